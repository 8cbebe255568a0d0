import KafkaClient
import Telemetry

/// What the group says, and where its partitions are.
extension ExpansionWorker {
    static func makeConsumer(_ context: ExpansionContext, _ logger: Logger) throws(KafkaError) -> Consumer {
        var consumer = try Consumer(
            settings: context.configuration.consumerSettings(queues: 1), group: context.settings.group,
            logger: logger.clientSink)
        try consumer.subscribe(to: [context.settings.source])
        return consumer
    }

    /// Serves the group's events and the producer's delivery reports.
    mutating func serveControl() throws {
        while let event = consumer.nextEvent(timeout: .zero) {
            switch event {
            case .assign(let partitions):
                logger.info("assigned \(partitions.count) partitions")
                // An unanswered assignment would block the whole group until the committed offsets are known.
                try consumer.assign([:])
                phase = .locating(partitions)
                context.isReading.store(false, ordering: .relaxed)
            case .revoke(_, let isLost): try revoke(isLost: isLost)
            case .error(let error): try considerErrors([error])
            case .statistics: continue
            }
        }
        output.transaction.poll()
        try considerErrors(output.transaction.takeErrors())
    }

    /// The group takes the partitions back; what is open is committed first.
    private mutating func revoke(isLost: Bool) throws {
        if isLost {
            logger.warning("lost its partitions: what was open is written by their next owner")
            try abort()
        } else {
            do {
                try commit()
            } catch let error as KafkaError {
                try endTransaction(after: error)
            }
        }
        removeAll()
        group = nil
        phase = .unassigned
        context.isReading.store(false, ordering: .relaxed)
        try consumer.unassign()
    }

    /// Finds out where the partitions are, and begins to read.
    mutating func locate(_ partitions: [TopicPartition]) throws {
        guard .now >= nextAttempt else { return wait() }
        let found: [TopicPartition: CommittedOffset]
        do throws(KafkaError) {
            found = try consumer.committed(partitions, timeout: .seconds(1))
        } catch {
            // A dead predecessor's transaction is open.
            guard error.recovery == .retry else { throw error }
            nextAttempt = .now + .milliseconds(200)
            if patience.isDue("committed") { logger.info("waits for the committed offsets: \(error)") }
            return
        }
        var positions = found.mapValues(\.offset)
        let missing = partitions.filter { found[$0] == nil }
        if !missing.isEmpty {
            let begun = try firstOffsets(of: missing)
            // Committed before anything is read, so that a restart begins at the same place.
            try consumer.commit(
                begun.mapValues { CommittedOffset(offset: $0, metadata: "") }, timeout: .seconds(10))
            positions.merge(begun) { $1 }
        }
        group = try consumer.groupMetadata()
        try consumer.assign(positions)
        phase = .reading
        context.isReading.store(true, ordering: .relaxed)
    }

    private func firstOffsets(of partitions: [TopicPartition]) throws -> [TopicPartition: Offset] {
        switch context.configuration.from {
        case nil:
            throw PipelineError.decisionNeeded(
                "the group \(context.settings.group) has no committed offsets in \(partitions.count) partitions: its first "
                    + "start needs --from earliest, latest or a time; partitions that were added to the topic need earliest"
            )
        case .earliest: try consumer.startOffsets(partitions, timeout: .seconds(10))
        case .latest: try consumer.endOffsets(partitions, timeout: .seconds(10))
        case .time(let milliseconds):
            try consumer.offsets(at: WallTime(milliseconds: milliseconds), of: partitions, timeout: .seconds(10))
        }
    }

    /// Asks again where the partitions are: whatever was open is committed or is not.
    mutating func startAgain() throws {
        let partitions: [TopicPartition]
        switch phase {
        case .reading: partitions = consumer.assignment
        case .locating(let asked): partitions = asked
        case .unassigned: partitions = []
        }
        removeAll()
        group = nil
        context.isReading.store(false, ordering: .relaxed)
        guard !partitions.isEmpty else { return }
        try consumer.unassign()
        try consumer.assign([:])
        phase = .locating(partitions)
    }
}
