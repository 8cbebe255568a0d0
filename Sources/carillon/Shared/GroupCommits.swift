import KafkaClient
import Pipeline

/// What a group has committed of a topic, for a warning: it never holds a command up for long.
enum GroupCommits {
    /// Whether a group has never read a topic; false also where the cluster does not say within 2 s, as while a
    /// transaction of the group is open.
    static func areMissing(
        of group: String, in topic: String, _ configuration: PipelineConfiguration
    ) -> Bool {
        do {
            let consumer = try Consumer(assigning: configuration.kafka, group: group, logger: configuration.clientSink)
            let partitions = try consumer.partitions(of: topic, timeout: patience)
            return try consumer.committed(partitions, timeout: patience).isEmpty
        } catch {
            return false
        }
    }

    private static let patience: Duration = .seconds(2)
}
