extension Permissions {
    /// Those of the workers of orders and requests.
    init(_ configuration: PipelineConfiguration) {
        let topics = configuration.topics
        self.init(
            configuration.kafka, group: .named(configuration.groupID),
            transactionalIDs: .prefix("\(configuration.groupID)."),
            committed: topics.sources.map(topics.topic), followed: [topics.subscriptions],
            written: [topics.dispatch, topics.deadLetters, topics.journal])
    }
}
