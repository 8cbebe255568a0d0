import Hosting
import KafkaClient
import Pipeline

/// What is known at the start of the topics that a registrar's table is the fold of.
struct FoldedLog: Sendable {
    /// The cluster's id; nil where the broker does not report it.
    var cluster: String?
    /// A stored table that is older may have missed tombstones, in milliseconds.
    var largestTableAge: Int64

    /// Kafka's default for `delete.retention.ms`.
    private static let usualDeleteRetention: Int64 = 86_400_000

    /// Waits for the topics, and asks how long they keep tombstones.
    ///
    /// - Parameters:
    ///   - topics: those that are folded.
    ///   - others: what else must be there.
    ///   - patience: nil: the role's.
    static func ask(
        _ host: RoleHost, _ configuration: PipelineConfiguration, _ topics: [String], with others: [String],
        _ patience: Patience? = nil, logger: Logger
    ) throws -> FoldedLog {
        var consumer = try Consumer(assigning: configuration.kafka, logger: logger.clientSink)
        _ = try host.untilItWorks(logger, patience) { () throws(KafkaError) in
            try consumer.partitionCounts(of: topics + others)
        }
        var retention: Int64?
        do throws(KafkaError) {
            let admin = try Admin(settings: configuration.kafka, logger: logger.clientSink)
            for topic in try admin.describe(topics: topics, timeout: .seconds(5)) {
                let found = topic.configuration["delete.retention.ms"].flatMap { Int64($0) } ?? usualDeleteRetention
                retention = min(retention ?? found, found)
            }
        } catch {
            logger.notice("how long the topics keep tombstones is not known; one day is assumed: \(error)")
        }
        return FoldedLog(
            cluster: consumer.clusterID(timeout: .seconds(5)),
            largestTableAge: max((retention ?? usualDeleteRetention) / 2, 5_000))
    }
}
