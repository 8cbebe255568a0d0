import KafkaClient
import Pipeline

/// Where the group stands in each partition of the events topic, and what the log has.
struct GroupPositions: Sendable {
    struct Partition: Sendable {
        var id: TopicPartition
        /// The first offset that still exists.
        var start: Offset
        /// The last stable offset.
        var end: Offset
        var committed: CommittedOffset?
        /// nil where the group has committed nothing, or something that is not ours.
        var metadata: OffsetMetadata? { committed.flatMap { OffsetMetadata(parsing: $0.metadata) } }
    }

    var partitions: [Partition]

    /// - Parameter consumer: a reader that is no member of the group, but asks in its name.
    init(of topic: String, _ consumer: borrowing Consumer, timeout: Duration) throws(KafkaError) {
        let count = try consumer.partitionCount(of: topic, timeout: timeout)
        let ids = (0..<count).map { TopicPartition(topic: topic, partition: Int32($0)) }
        let starts = try consumer.startOffsets(ids, timeout: timeout)
        let ends = try consumer.endOffsets(ids, timeout: timeout)
        let committed = try consumer.committedWhenStable(ids, timeout: timeout)
        partitions = ids.map { id in
            Partition(id: id, start: starts[id] ?? Offset(0), end: ends[id] ?? Offset(0), committed: committed[id])
        }
    }

    init(partitions: [Partition]) {
        self.partitions = partitions
    }
}
