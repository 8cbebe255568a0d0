import KafkaClient

extension Consumer {
    /// Where partitions are at a position.
    package func offsets(
        at position: PipelineConfiguration.StartPosition, of partitions: [TopicPartition], timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: Offset] {
        switch position {
        case .earliest: try startOffsets(partitions, timeout: timeout)
        case .latest: try endOffsets(partitions, timeout: timeout)
        case .time(let time): try offsets(at: time, of: partitions, timeout: timeout)
        }
    }
}
