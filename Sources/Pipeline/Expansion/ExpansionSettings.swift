/// What ``ExpansionService`` reads and writes.
public struct ExpansionSettings: Sendable, Equatable {
    /// The topic with grouped records.
    public var source: String
    /// The topic for the records of single devices.
    public var target: String
    /// The consumer group; the transactional id is made from it and the instance.
    public var group: String

    /// - Parameter source: nil: `topic.dispatch`.
    /// - Returns: with a group of its own for each target: two expansions of a topic do not share its partitions.
    public init(_ configuration: PipelineConfiguration, source: String? = nil, target: String) {
        self.source = source ?? configuration.topics.dispatch
        self.target = target
        group = "\(configuration.groupID)-expand-\(target)"
    }

    /// Why they cannot be used; nil if they can.
    func problem(_ topics: PipelineConfiguration.Topics) -> String? {
        if target == source { return "--to \(target) is the topic that is read: choose another one" }
        let others = [
            topics.events, topics.requests, topics.broadcasts, topics.subscriptions, topics.dispatch,
            topics.broadcastDispatch, topics.deadLetters, topics.journal, topics.broadcastJournal, topics.deliveries,
        ]
        guard others.contains(target) else { return nil }
        return "--to \(target) is one of the pipeline's own topics: choose another one"
    }
}
