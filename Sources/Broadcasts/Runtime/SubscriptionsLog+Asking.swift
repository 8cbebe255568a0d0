import Hosting
import KafkaClient
import Pipeline

extension BroadcastContext.SubscriptionsLog {
    /// Which devices have joined since an offset is known exactly so long: until compaction may take older versions of a
    /// key away. One day more than a broadcast can be valid, in milliseconds.
    static let leastCompactionLag: Int64 = 29 * 86_400_000
    /// Kafka's default for `delete.retention.ms`.
    private static let usualDeleteRetention: Int64 = 86_400_000

    /// Waits for the topics, and asks for what the log of subscriptions keeps.
    ///
    /// - Throws: ``PipelineError/decisionNeeded(_:)`` where it keeps too little.
    static func ask(
        _ host: RoleHost, _ configuration: PipelineConfiguration, logger: Logger
    ) throws -> Self {
        let topics = configuration.topics
        var consumer = try Consumer(assigning: configuration.kafka, logger: logger.clientSink)
        let needed = [
            topics.broadcasts, topics.broadcastDispatch, topics.broadcastJournal, topics.deadLetters,
            topics.subscriptions,
        ]
        let counts = try host.untilItWorks(logger) { () throws(KafkaError) in
            try consumer.partitionCounts(of: needed)
        }
        let found = settings(of: topics.subscriptions, configuration, logger)
        func number(_ key: String) -> Int64? { found[key].flatMap { Int64($0) } }
        let lag = number("min.compaction.lag.ms") ?? leastCompactionLag
        guard lag >= leastCompactionLag else {
            throw PipelineError.decisionNeeded(
                "\(topics.subscriptions) has min.compaction.lag.ms=\(lag), and broadcasts need \(leastCompactionLag) (29 days) "
                    + "at least: earlier it would forget when a device has joined")
        }
        return Self(
            cluster: consumer.clusterID(timeout: .seconds(5)), partitions: Int32(counts[topics.subscriptions] ?? 0),
            largestTableAge: max((number("delete.retention.ms") ?? usualDeleteRetention) / 2, 5_000), compactionLag: lag
        )
    }

    /// Empty where the broker does not say: an embedded cluster does not answer, an ACL may forbid it.
    private static func settings(
        of topic: String, _ configuration: PipelineConfiguration, _ logger: Logger
    ) -> [String: String] {
        do throws(KafkaError) {
            let admin = try Admin(settings: configuration.kafka, logger: logger.clientSink)
            return try admin.describe(topics: [topic], timeout: .seconds(5)).first?.configuration ?? [:]
        } catch {
            logger.notice(
                "the settings of \(topic) are not known; min.compaction.lag.ms is assumed to be 29 days or more, and "
                    + "delete.retention.ms one day: \(error)")
            return [:]
        }
    }
}
