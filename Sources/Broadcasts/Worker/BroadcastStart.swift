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
            throw .movedKeys(in: partition.topic, from: offset.partitions, to: log.partitions)
        }
        guard now - offset.time <= log.compactionLag else {
            self = .first(reason: "the offset is older than min.compaction.lag.ms")
            return
        }
        self = .continues(offset)
    }
}

extension PipelineError {
    /// The subscriptions' topic has another number of partitions.
    static func movedKeys(in topic: String, from before: Int32, to now: Int32) -> PipelineError {
        .decisionNeeded(
            "\(topic) had \(before) partitions and has \(now): keys have moved, and devices would get broadcasts again; copy "
                + "the records into a new topic, and remove the offsets of the group")
    }
}
