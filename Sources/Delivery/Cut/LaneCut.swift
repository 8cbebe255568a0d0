import KafkaClient
import Pipeline

/// Where lanes end, or begin, in the dispatch topics of a partition.
package struct LaneEdge: Equatable, Sendable {
    package var orders: Int64
    /// 0 where no lane has sent broadcasts yet: the new ones begin at the first.
    package var broadcasts: Int64

    package init(orders: Int64, broadcasts: Int64 = 0) {
        self.orders = orders
        self.broadcasts = broadcasts
    }

    subscript(kind: PushKind) -> Int64 {
        switch kind {
        case .orders: orders
        case .broadcasts: broadcasts
        }
    }
}

/// A change of the map of lanes, as `carillon deliver lanes --cut` has recorded it: where the old lanes end in the
/// dispatch topics and the new ones begin.
package struct LaneCut: Equatable, Sendable {
    /// The hash of the new map.
    package var lanes: String
    /// The first offsets of the new lanes, by partition of the dispatch topics.
    package var edges: [Int32: LaneEdge]

    package init(lanes: String, edges: [Int32: LaneEdge]) {
        self.lanes = lanes
        self.edges = edges
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
        let topics = configuration.topics
        let wanted = topics.dispatchTopics.flatMap { topic in
            partitions.map { TopicPartition(topic: topic, partition: $0) }
        }
        let committed = try reader.committed(wanted, timeout: .seconds(5))
        func places(in topic: String) -> [(partition: Int32, committed: CommittedOffset)] {
            committed.filter { $0.key.topic == topic }.map { ($0.key.partition, $0.value) }
        }
        let orders = places(in: topics.dispatch)
        guard let lanes = orders.lazy.compactMap({ LaneCut.lanes(in: $0.committed.metadata) }).first else { return nil }
        var cut = LaneCut(lanes: lanes, edges: [:])
        for (partition, offset) in orders { cut.edges[partition] = LaneEdge(orders: offset.offset.value) }
        // An earlier cut's, of lanes that sent broadcasts, says nothing of this one.
        for (partition, offset) in places(in: topics.broadcastDispatch)
        where LaneCut.lanes(in: offset.metadata) == lanes {
            cut.edges[partition]?.broadcasts = offset.offset.value
        }
        return cut
    }
}
