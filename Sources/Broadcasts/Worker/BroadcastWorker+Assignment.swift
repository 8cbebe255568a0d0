import KafkaClient
import Pipeline
import StateStore

extension BroadcastWorker {
    static func makeConsumer(_ context: BroadcastContext, _ logger: Logger) throws(KafkaError) -> Consumer {
        var consumer = try Consumer(
            settings: context.configuration.consumerSettings(queues: 1), group: context.group,
            logger: logger.clientSink)
        try consumer.subscribe(to: [context.configuration.topics.subscriptions])
        return consumer
    }

    /// Serves the group's events and the producer's delivery reports.
    mutating func serveControl() throws {
        while let event = consumer.nextEvent(timeout: .zero) {
            switch event {
            case .assign(let partitions):
                logger.info("assigned \(partitions.count) partitions")
                assignments += 1
                refusal = nil
                // An unanswered assignment would block the whole group until the tables are filled.
                try consumer.assign([:])
                let numbers = partitions.map(\.partition).sorted()
                phase = numbers.isEmpty ? .reading : .locating(numbers, since: .now)
            case .revoke(_, let isLost): try revoke(isLost: isLost)
            case .error(let error): try considerErrors([error])
            case .statistics(let statistics): observe(statistics)
            }
        }
        output.transaction.poll()
        try considerErrors(output.transaction.takeErrors())
    }

    /// The lag counts from what is taken here: the client's own figure ignores commits in transactions.
    private mutating func observe(_ statistics: ClientStatistics) {
        if statistics.isConnected { context.host.health.brokersAreDown(nil, of: label) }
        for each in statistics.partitions {
            guard let position = core.position(each.partition.partition), let end = each.lastStableOffset else {
                continue
            }
            lag[each.partition.partition] = Int(max(0, end.value - position))
        }
    }

    /// The group takes the partitions back; what is open is committed first.
    private mutating func revoke(isLost: Bool) throws {
        try context.reach(.inRevoke, worker: number)
        if isLost {
            logger.warning("lost its partitions: what was open is sent by their next owner")
            try abort()
        } else if opened != nil {
            try commit()
        }
        try release()
        phase = .unassigned
        try consumer.unassign()
    }

    /// Gives up the partitions: nothing is open any longer.
    mutating func release() throws {
        core.aborted()
        opened = nil
        batch.removeAll()
        next = 0
        group = nil
        lag.removeAll()
        for number in core.owned {
            let offset = core.committed(number)?.offset ?? 0
            guard let table = core.remove(number) else { continue }
            do throws(StoreError) {
                if table.isPending { try table.flush(at: offset) }
                try table.close()
            } catch {
                logger.warning("the table of partition \(number) was not stored: \(error)")
            }
        }
    }

    /// Finds out again where the partitions are, and brings their tables up to it.
    mutating func startAgain() throws {
        let numbers: [Int32]
        switch phase {
        case .reading: numbers = core.owned
        // Some of them may have no table yet.
        case .locating(let asked, _): numbers = asked
        case .unassigned: numbers = []
        }
        try release()
        try consumer.unassign()
        try consumer.assign([:])
        phase = numbers.isEmpty ? phase : .locating(numbers, since: .now)
    }
}
