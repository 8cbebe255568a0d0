import Deliveries
import KafkaClient
import Pipeline

/// The lanes' groups and the cut between them, on the broker.
package struct LaneGroups {
    let configuration: PipelineConfiguration
    let logger: Logger

    package init(_ configuration: PipelineConfiguration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
    }

    /// Every group that a lane of this `group.id` has had.
    package func groups() throws(KafkaError) -> [LaneCutPlan.Group] {
        let admin = try Admin(settings: configuration.kafka, logger: logger.clientSink)
        let prefix = DeliveryConfiguration.group(of: "", in: configuration.groupID)
        let names = try admin.groups().filter { $0.hasPrefix(prefix) && $0.count > prefix.count }.sorted()
        var found: [LaneCutPlan.Group] = []
        let reader = try makeReader()
        for name in names {
            var offsets: [Int32: LaneOffset] = [:]
            var broadcasts: [Int32: LaneOffset] = [:]
            var retries: [TopicPartition: Int64] = [:]
            for (partition, committed) in try admin.listCommitted(group: name) {
                let offset = LaneOffset(offset: committed.offset.value, metadata: committed.metadata)
                switch partition.topic {
                case configuration.topics.dispatch: offsets[partition.partition] = offset
                case configuration.topics.broadcastDispatch: broadcasts[partition.partition] = offset
                default: retries[partition] = committed.offset.value
                }
            }
            found.append(
                .init(
                    lane: String(name.dropFirst(prefix.count)), members: try admin.describe(group: name).members.count,
                    offsets: offsets, broadcasts: broadcasts, retries: try left(of: retries, reader)))
        }
        return found
    }

    /// The ends of the dispatch topics, open transactions included: what they write is the old lanes'.
    package func ends() throws(KafkaError) -> [Int32: LaneEdge] {
        let reader = try makeReader()
        var edges: [Int32: LaneEdge] = [:]
        for topic in configuration.topics.dispatchTopics {
            let partitions = try reader.partitions(of: topic, timeout: .seconds(10))
            for (partition, end) in try reader.endOffsets(partitions, timeout: .seconds(10)) {
                if topic == configuration.topics.dispatch {
                    edges[partition.partition] = LaneEdge(orders: end.value)
                } else {
                    edges[partition.partition]?.broadcasts = end.value
                }
            }
        }
        return edges
    }

    private func makeReader() throws(KafkaError) -> Consumer {
        var settings = configuration.kafka
        settings["isolation.level"] = "read_uncommitted"
        return try Consumer(assigning: settings, logger: logger.clientSink)
    }

    /// How many offsets there are from these on. A retry topic that was deleted has none.
    private func left(
        of committed: [TopicPartition: Int64], _ reader: borrowing Consumer
    ) throws(KafkaError) -> Int64 {
        var left: Int64 = 0
        for (topic, partitions) in Dictionary(grouping: committed.keys, by: \.topic) {
            do throws(KafkaError) {
                let ends = try reader.endOffsets(partitions, timeout: .seconds(10))
                left += ends.reduce(0) { $0 + max(0, $1.value.value - (committed[$1.key] ?? 0)) }
            } catch {
                guard error.kind == .unknownTopicOrPartition else { throw error }
                logger.debug("\(topic) is not there any more")
            }
        }
        return left
    }

    /// The last cut; nil without one.
    package func lastCut() throws(KafkaError) -> LaneCut? {
        let partitions = try ends().keys.sorted()
        return try LaneCut.read(configuration, partitions: partitions, logger)
    }

    /// Records a cut.
    package func record(_ cut: LaneCut) throws(KafkaError) {
        let reader = try Consumer(
            assigning: configuration.kafka, group: LaneCut.group(in: configuration.groupID), logger: logger.clientSink)
        var offsets: [TopicPartition: CommittedOffset] = [:]
        for (number, topic) in configuration.topics.dispatchTopics.enumerated() {
            for (partition, edge) in cut.edges {
                offsets[TopicPartition(topic: topic, partition: partition)] = CommittedOffset(
                    offset: Offset(number == 0 ? edge.orders : edge.broadcasts),
                    metadata: LaneCut.metadata(lanes: cut.lanes))
            }
        }
        try reader.commit(offsets, timeout: .seconds(10))
    }
}
