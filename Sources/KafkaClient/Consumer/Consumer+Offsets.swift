extension Consumer {
    /// What the group has committed. A partition that is not in the answer has really no commit; a dead predecessor's open transaction makes this
    /// throw with `.retry` (kafka-rules 8): ask again for up to the transaction timeout + 10 s.
    public func committed(
        _ partitions: [TopicPartition], timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: CommittedOffset] { [:] }

    /// The last stable offsets, in one call (kafka-rules 19).
    public func endOffsets(
        _ partitions: [TopicPartition], timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: Offset] { [:] }

    /// The first offsets that still exist.
    public func startOffsets(
        _ partitions: [TopicPartition], timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: Offset] { [:] }

    /// The high watermarks that the latest fetches brought; no call to the broker, never blocks. A partition that nothing was fetched from is not in the answer.
    public func highWatermarks(_ partitions: [TopicPartition]) -> [TopicPartition: Offset] { [:] }

    /// The first offset at or after the time; the end where there is none. Retries up to 5 times (kafka-rules 16).
    public func offsets(
        at time: Timestamp, of partitions: [TopicPartition], timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: Offset] { [:] }

    /// Commits outside a transaction, for `--from` and `offsets set`.
    public func commit(_ offsets: [TopicPartition: CommittedOffset], timeout: Duration) throws(KafkaError) {}

    public func groupMetadata() throws(KafkaError) -> GroupMetadata {
        throw KafkaError(kind: .state, recovery: .giveUp, name: "", message: "no group")
    }

    public func partitionCount(of topic: String, timeout: Duration) throws(KafkaError) -> Int { 0 }

    public func clusterID(timeout: Duration) -> String? { nil }
}
