import Pipeline

extension TopicPlan {
    /// A broadcast lives for at most 28 days (docs/rules.md §14.1); clocks may differ by a day.
    private static let broadcastLife = 29 * day

    /// The topics of `carillon broadcasts`: broadcasts, their pushes, and the journal of both.
    static func broadcasts(_ names: PipelineConfiguration.Topics, _ premises: Premises) -> [TopicPlan] {
        var broadcasts = make(
            .broadcasts, names.broadcasts, 1, premises,
            [
                .init("cleanup.policy", "compact,delete", .exactly, "the newest record of a key is the broadcast"),
                .init(
                    "retention.ms", 35 * day, { _ in .atLeast(broadcastLife) },
                    "a device that joins gets broadcasts of the last 28 days"),
                .init(
                    "delete.retention.ms", 35 * day, { _ in .atLeast(broadcastLife) },
                    "a process that was away must still find what was cancelled"),
                .init(
                    "message.timestamp.type", "LogAppendTime", .exactly,
                    "retention and 'carillon broadcast status' count from when the broker appended it"),
                .init("max.message.bytes", "\(premises.eventsMaxMessageBytes)", .initial, "Kafka's default"),
                measured(.advised),
            ])
        broadcasts.fixedPartitions = "the offsets of one partition are the order of all broadcasts"
        return [
            broadcasts,
            make(
                .broadcastJournal, names.broadcastJournal, min(3, premises.partitions), premises,
                [
                    .init("cleanup.policy", "delete", .exactly, "every transaction counts"),
                    .init(
                        "retention.ms", 35 * day, { _ in .atLeast(broadcastLife) },
                        "as long as a broadcast may live: it says how far each has got"),
                    .init(
                        "message.timestamp.type", "LogAppendTime", .exactly,
                        "'carillon broadcast status' reads it from the time of the broadcast"),
                ]),
            make(.broadcastDispatch, names.broadcastDispatch, premises, dispatched, partitionsOf: names.dispatch),
        ]
    }
}
