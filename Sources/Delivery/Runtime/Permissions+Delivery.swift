import Hosting
import Pipeline

extension Permissions {
    /// Those of all lanes.
    init(deliveryOf configuration: PipelineConfiguration) {
        let dispatch = configuration.topics.dispatchTopics
        let retries = dispatch.flatMap(configuration.delivery.retryTopics)
        self.init(
            configuration.kafka, group: .prefix("\(configuration.groupID)-delivery"),
            transactionalIDs: .prefix(DeliveryConfiguration.group(of: "", in: configuration.groupID)),
            committed: dispatch + retries, written: [configuration.topics.deliveries] + retries)
    }
}
