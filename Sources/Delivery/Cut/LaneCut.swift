import Events
import KafkaClient
import Pipeline
import Telemetry

/// A change of the map of lanes, as `carillon deliver lanes --cut` has recorded it: where the old lanes end in the
/// dispatch topic and the new ones begin.
package struct LaneCut: Equatable, Sendable {
    /// The hash of the new map.
    package var lanes: String
    /// The first offset of the new lanes, by partition of the dispatch topic.
    package var offsets: [Int32: Int64]

    package init(lanes: String, offsets: [Int32: Int64]) {
        self.lanes = lanes
        self.offsets = offsets
    }

    /// The group that keeps it; nobody joins it. No lane has such a group: its name has no dot.
    package static func group(in group: String) -> String { "\(group)-delivery.cut" }

    package static func metadata(lanes: String) -> String { "v1 l=\(lanes)" }

    /// The hash in such metadata.
    package static func lanes(in metadata: String) -> String? {
        MetadataWords(metadata)?.pairs.last { $0.name == "l" }.map { String($0.value) }
    }
}

extension LaneCut {
    /// What the last `carillon deliver lanes --cut` has recorded of these partitions; nil without one.
    package static func read(
        _ configuration: PipelineConfiguration, partitions: [Int32], _ logger: Logger
    ) throws(KafkaError) -> LaneCut? {
        let reader = try Consumer(
            assigning: configuration.kafka, group: group(in: configuration.groupID), logger: logger.clientSink)
        let topics = partitions.map { TopicPartition(topic: configuration.topics.dispatch, partition: $0) }
        let committed = try reader.committed(topics, timeout: .seconds(5))
        guard let lanes = committed.values.lazy.compactMap({ LaneCut.lanes(in: $0.metadata) }).first else { return nil }
        return LaneCut(
            lanes: lanes,
            offsets: Dictionary(committed.map { ($0.key.partition, $0.value.offset.value) }) { first, _ in first })
    }
}
