import Hosting
import Pipeline

extension Permissions {
    /// Those of the lanes of all providers.
    init(deliveryOf configuration: PipelineConfiguration) {
        let dispatch = configuration.topics.dispatchTopics
        let retries = dispatch.flatMap(configuration.delivery.retryTopics)
        let prefix = SenderConfiguration.groupPrefix(in: configuration.groupID)
        self.init(
            configuration.kafka, group: .prefix(prefix), transactionalIDs: .prefix(prefix),
            committed: dispatch + retries, followed: [configuration.topics.control].filter { !$0.isEmpty },
            written: [configuration.topics.deliveries] + retries
                + [configuration.topics.commands].filter { !$0.isEmpty })
    }
}
