import KafkaClient
import Notifications
import Pipeline

extension SenderService {
    /// Where each provider's partitions begin that have never committed: the dispatch topic at `position`, and its retry
    /// topics at their ends, since nothing in them is theirs. What is committed stays.
    package static func firstOffsets(
        of configuration: PipelineConfiguration, at position: PipelineConfiguration.StartPosition, logger: Logger
    ) throws(KafkaError) -> [String: [TopicPartition: CommittedOffset]] {
        let dispatch = configuration.topics.dispatch
        var found: [String: [TopicPartition: CommittedOffset]] = [:]
        for provider in Platform.allCases {
            let group = SenderConfiguration.group(of: provider, in: configuration.groupID)
            let reader = try Consumer(assigning: configuration.kafka, group: group, logger: logger.clientSink)
            let partitions = try reader.partitions(of: dispatch, timeout: .seconds(10))
            let committed = try reader.committed(partitions, timeout: .seconds(10))
            let begun = partitions.filter { committed[$0] == nil }
            guard !begun.isEmpty else { continue }
            let retries = configuration.delivery.retryTopics(of: dispatch).flatMap { topic in
                begun.map { TopicPartition(topic: topic, partition: $0.partition) }
            }
            let offsets = try reader.offsets(at: position, of: begun, timeout: .seconds(10))
                .merging(try reader.endOffsets(retries, timeout: .seconds(10))) { $1 }
            found[group] = offsets.mapValues { offset in
                let first = LaneOffset(
                    offset: offset.value, partitions: Int32(partitions.count))
                return CommittedOffset(offset: offset, metadata: first.metadata)
            }
        }
        return found
    }
}
