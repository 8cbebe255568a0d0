import KafkaClient
import Pipeline

/// Where a partition begins (docs/broadcasts.md).
enum BroadcastStart: Equatable {
    /// Where the group is.
    case continues(BroadcastOffset)
    /// At the ends of its logs, for this reason.
    case first(reason: String)

    /// - Parameter committed: nil without a commit.
    /// - Throws: ``PipelineError/decisionNeeded(_:)`` where keys have moved.
    init(
        _ committed: CommittedOffset?, of partition: TopicPartition, _ log: BroadcastContext.SubscriptionsLog,
        now: WallTime
    ) throws(PipelineError) {
        guard let committed else {
            self = .first(reason: "the group has no offset")
            return
        }
        guard let offset = BroadcastOffset(offset: committed.offset.value, metadata: committed.metadata) else {
            self = .first(reason: "the offset has metadata that cannot be read")
            return
        }
        guard offset.partitions == log.partitions else {
            throw .decisionNeeded(
                "\(partition.topic) had \(offset.partitions) partitions and has \(log.partitions): keys have moved, and "
                    + "devices would get broadcasts again; copy the records into a new topic, and remove the offsets of "
                    + "the group")
        }
        guard now - offset.time <= log.compactionLag else {
            self = .first(reason: "the offset is older than min.compaction.lag.ms")
            return
        }
        self = .continues(offset)
    }
}
