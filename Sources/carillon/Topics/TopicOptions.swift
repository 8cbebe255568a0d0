import Arguments
import KafkaClient
import Pipeline

/// What `topics create` and `topics check` share.
struct TopicOptions: ParsableArguments {
    @Option(help: "Partitions of the topics that grow with the load; 12 for new topics.", valueName: "n")
    var partitions: Int?
    @Option(help: "Copies of each record; 3 for new topics, fewer on fewer brokers.", valueName: "n")
    var replicationFactor: Int?

    /// The copies of each record, if nobody says how many, on a cluster that has the brokers.
    static let usualCopies = 3

    func validate() -> [String] {
        [("--partitions", partitions, 10_000), ("--replication-factor", replicationFactor, 100)].compactMap {
            name, value, most in
            guard let value, !(1...most).contains(value) else { return nil }
            return "\(name) \(value) is not allowed; it must be from 1 to \(most)"
        }
    }

    /// The plan for this cluster, and those of its topics that exist.
    ///
    /// - Parameter isSmall: one partition for each topic, whatever is asked for.
    func survey(
        _ configuration: PipelineConfiguration, _ admin: borrowing Admin, isSmall: Bool = false
    ) throws(KafkaError) -> (plan: [TopicPlan], existing: [String: TopicDescription]) {
        let names = configuration.topics
        var premises = TopicPlan.Premises()
        if !configuration.delivery.credentials.isEmpty {
            premises.retryTopics = configuration.delivery.retryTopics(of: names.dispatch)
            if !names.broadcasts.isEmpty {
                premises.broadcastRetryTopics = configuration.delivery.retryTopics(of: names.broadcastDispatch)
            }
        }
        let described = try admin.describe(topics: TopicPlan.all(names, premises).map(\.name), timeout: .seconds(30))
        let existing = Dictionary(described.map { ($0.name, $0) }) { first, _ in first }

        if let partitions = isSmall ? 1 : partitions { premises.partitions = partitions }
        if let replicationFactor {
            premises.replicationFactor = replicationFactor
        } else {
            premises.replicationFactor = min(
                Self.usualCopies, max(1, try admin.cluster(timeout: .seconds(30)).brokers.count))
        }
        let orders = configuration.orders
        premises.eventsLeastRetention = orders.schedule.map { _ in 2 * orders.horizon.wholeMilliseconds }
        premises.eventsRetention = max(premises.eventsRetention, premises.eventsLeastRetention ?? 0)
        let events = existing[names.events]?.configuration
        if let retention = events?["retention.ms"].flatMap(Int64.init) { premises.eventsRetention = retention }
        if let bytes = events?["max.message.bytes"].flatMap(Int64.init) { premises.eventsMaxMessageBytes = bytes }
        premises.dispatchPartitions = existing[names.dispatch].map { Int($0.partitions) }
        func retention(_ topic: String) -> Int64? {
            existing[topic].flatMap { $0.configuration["retention.ms"] }.flatMap(Int64.init)
        }
        premises.dispatchRetention = retention(names.dispatch) ?? premises.dispatchRetention
        premises.broadcastDispatchRetention =
            retention(names.broadcastDispatch) ?? premises.broadcastDispatchRetention
        return (TopicPlan.all(names, premises), existing)
    }
}
