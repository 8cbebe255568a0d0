import KafkaClient
import Pipeline

extension BroadcastService {
    /// Where partitions begin that have never committed: at the ends of the subscriptions, with the first broadcast at
    /// `position`. What is committed stays.
    package static func firstOffsets(
        of configuration: PipelineConfiguration, at position: PipelineConfiguration.StartPosition, now: WallTime,
        logger: Logger
    ) throws(KafkaError) -> [String: [TopicPartition: CommittedOffset]] {
        let group = BroadcastContext.group(of: configuration)
        let reader = try Consumer(assigning: configuration.kafka, group: group, logger: logger.clientSink)
        let broadcasts = TopicPartition(topic: configuration.topics.broadcasts, partition: 0)
        let partitions = try reader.partitions(of: configuration.topics.subscriptions, timeout: .seconds(10))
        let committed = try reader.committed(partitions, timeout: .seconds(10))
        let begun = partitions.filter { committed[$0] == nil }
        guard !begun.isEmpty else { return [:] }
        let first = try reader.offsets(at: position, of: [broadcasts], timeout: .seconds(10))[broadcasts]
        let ends = try reader.endOffsets(begun, timeout: .seconds(10))
        return [
            group: ends.mapValues { offset in
                let start = BroadcastOffset(
                    offset: offset.value, partitions: Int32(partitions.count), time: now, broadcast: first?.value ?? 0)
                return CommittedOffset(offset: offset, metadata: start.metadata)
            }
        ]
    }
}
