import KafkaClient
import Notifications
import Pipeline

/// What a lane has committed of a partition.
struct LaneStart: Equatable, Sendable {
    /// By the indices of the topics; nil where it has never committed.
    let committed: [LaneOffset?]

    /// Whether it has never sent the partition's orders: a person says where it begins.
    var isFirst: Bool { committed[0] == nil }

    /// - Parameter partitions: how many the topic has now.
    /// - Throws: ``PipelineError/decisionNeeded(_:)`` with what a person has to do.
    init(
        _ found: [CommittedOffset?], of partition: Int32, partitions: Int32, provider: Platform
    ) throws(PipelineError) {
        let lane = "\(provider.rawValue), partition \(partition)"
        var committed: [LaneOffset?] = []
        for offset in found {
            let own = offset.flatMap { LaneOffset(offset: $0.offset.value, metadata: $0.metadata) }
            if let offset, own == nil { throw .decisionNeeded("\(lane): \(Self.refusal(of: offset.metadata))") }
            committed.append(own)
        }
        if let before = committed[0]?.partitions, before != partitions {
            throw .decisionNeeded(
                "\(lane): the topic had \(before) partitions and has \(partitions): keys are in other partitions now; let "
                    + "it send what is left, remove the group's offsets, and start it again with --from")
        }
        self.committed = committed
    }

    private static func refusal(of metadata: String) -> String {
        guard MetadataWords(metadata) != nil else {
            return
                "the committed offset has metadata that no 'carillon deliver' wrote; remove the group's offsets, and "
                + "start it again with --from"
        }
        return
            "the committed offset is of an earlier version of Carillon; let that version send what is left, remove the "
            + "group's offsets, and start this one with --from latest"
    }
}
