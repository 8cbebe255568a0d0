import Hosting
import Pipeline

extension Permissions {
    /// Those of the workers of broadcasts.
    init(broadcastsOf configuration: PipelineConfiguration) {
        let topics = configuration.topics
        let group = BroadcastContext.group(of: configuration)
        self.init(
            configuration.kafka, group: .named(group), transactionalIDs: .prefix("\(group)."),
            committed: [topics.subscriptions], followed: [topics.broadcasts],
            written: [topics.broadcastDispatch, topics.broadcastJournal, topics.deadLetters])
    }
}
