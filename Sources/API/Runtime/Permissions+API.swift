import Hosting
import Pipeline

extension Permissions {
    /// Those of the HTTP API.
    init(apiOf configuration: PipelineConfiguration) {
        self.init(
            configuration.kafka, group: .named(configuration.groupID), transactionalIDs: .named(configuration.groupID),
            committed: [], followed: [configuration.topics.requests], written: [configuration.topics.requests])
    }
}
