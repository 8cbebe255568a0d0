import KafkaClient
import Notifications
import Pipeline

extension LaneWorker {
    static func makeConsumer(
        of provider: Platform, _ context: DeliveryContext, _ signal: QueueSignal, _ logger: Logger
    ) throws(KafkaError) -> Consumer {
        let configuration = context.configuration
        var consumer = try Consumer(
            settings: configuration.consumerSettings(queues: context.topics.count),
            group: DeliveryConfiguration.group(of: provider, in: configuration.groupID), instance: nil,
            queuesOf: context.topics, isCoPartitioned: true, signal: signal, logger: logger.clientSink)
        try consumer.subscribe(to: context.topics)
        return consumer
    }

    /// Serves the group's events and the producer's delivery reports.
    mutating func serveControl() throws {
        while let event = consumer.nextEvent(timeout: .zero) {
            switch event {
            case .assign(let partitions): try startAssignment(partitions)
            case .revoke(_, let isLost): try revoke(isLost: isLost)
            case .error(let error): try considerErrors([error])
            case .statistics(let statistics): observe(statistics)
            }
        }
        output.transaction.poll()
        try considerErrors(output.transaction.takeErrors())
    }

    private mutating func startAssignment(_ partitions: [TopicPartition]) throws {
        logger.info("assigned \(partitions.count) partitions")
        assignments += 1
        refusal = nil
        // An unanswered assignment would block the whole group until the committed offsets are known.
        try consumer.assign([:])
        if case .ending = phase { return }
        try checkTopics(of: partitions)
        let numbers = partitions.filter { $0.topic == context.topics[0] }.map(\.partition).sorted()
        phase = numbers.isEmpty ? .reading : .locating(Search(partitions: numbers))
    }

    /// Retries of a partition have to come to whoever sends the partition.
    private func checkTopics(of partitions: [TopicPartition]) throws(PipelineError) {
        let byTopic = Dictionary(grouping: partitions, by: \.topic).mapValues { Set($0.map(\.partition)) }
        for topic in context.topics.dropFirst() where byTopic[topic] != byTopic[context.topics[0]] {
            throw .decisionNeeded(
                "\(topic) and \(context.topics[0]) do not have the same partitions: `carillon topics check` says more")
        }
    }

    /// The group takes the partitions back.
    private mutating func revoke(isLost: Bool) throws {
        try context.reach(.inRevoke, worker: context.number(of: provider))
        intake.removeAll()
        if isLost {
            logger.warning("lost its partitions: what was in flight may be sent again by their next owner")
            try release()
        } else {
            let now = context.clock.now()
            for partition in core.owned { core.revoke(partition, now: now) }
            if case .ending = phase { return }
            phase = .revoking(until: .now + .milliseconds(core.settings.lastAnswers) + .seconds(15))
            try releaseIfDone()
        }
    }

    /// Gives the partitions back once their last answers are committed.
    mutating func releaseIfDone() throws {
        guard case .revoking(let until) = phase else { return }
        guard !core.owned.isEmpty else { return try release() }
        guard .now >= until else { return }
        logger.warning("could not commit the last answers before the partitions were revoked")
        try release()
    }

    /// The partitions are somebody else's, or nobody's.
    mutating func release() throws {
        for partition in core.owned { core.lose(partition) }
        senders.cancel(core.takeCancelled())
        intake.removeAll()
        waiting.removeAll()
        group = nil
        if case .ending = phase {} else { phase = .unassigned }
        try consumer.unassign()
    }

    /// The process ends: what is in flight is waited for, and committed.
    mutating func endLane() {
        intake.removeAll()
        let now = context.clock.now()
        for partition in core.owned { core.revoke(partition, now: now) }
        phase = .ending
    }

    /// The lag counts from what this lane has finished: the client's own figure ignores commits in transactions.
    private mutating func observe(_ statistics: ClientStatistics) {
        if statistics.isConnected { context.host.health.brokersAreDown(nil, of: label) }
        var lag: Int64 = 0
        for each in statistics.partitions {
            guard let stream = context.stream(of: each.partition.topic),
                let first = core.firstUnfinished(of: stream, each.partition.partition),
                let end = each.lastStableOffset
            else { continue }
            lag += max(0, end.value - first)
        }
        intake.lag = Int(lag)
    }
}
