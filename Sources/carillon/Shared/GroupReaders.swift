import KafkaClient
import Pipeline

/// The live processes of a group that read a topic.
struct GroupReaders {
    /// Whether none has a partition of it; false also where the cluster does not say.
    let areMissing: Bool

    init(_ group: String, _ topic: String, _ configuration: PipelineConfiguration) {
        guard let admin = try? Admin(settings: configuration.kafka, logger: configuration.clientSink),
            let members = try? admin.describe(group: group, timeout: .seconds(5)).members
        else {
            areMissing = false
            return
        }
        areMissing = !members.contains { $0.assignment.contains { $0.topic == topic } }
    }
}
