import KafkaClient
import Pipeline

/// The group's position in each partition of a topic, and the bounds of the log.
struct GroupPositions: Sendable {
    struct Partition: Sendable {
        var id: TopicPartition
        /// The first offset that still exists.
        var start: Offset
        /// The last stable offset.
        var end: Offset
        var committed: CommittedOffset?
        /// nil if the group has committed nothing, or something that Carillon did not write.
        var metadata: OffsetMetadata? { committed.flatMap { OffsetMetadata(parsing: $0.metadata) } }
    }

    var partitions: [Partition]

    /// - Parameter consumer: queries on behalf of the group without joining it.
    init(of topic: String, _ consumer: borrowing Consumer, timeout: Duration) throws(KafkaError) {
        let ids = try consumer.partitions(of: topic, timeout: timeout)
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
