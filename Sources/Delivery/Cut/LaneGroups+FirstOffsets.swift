import Deliveries
import KafkaClient
import Pipeline

extension LaneGroups {
    /// Where lanes begin that have never committed, by group: the dispatch topic at `position`, and its retry topics at their
    /// ends, since nothing in them is theirs. What a lane has committed stays, and a cut says itself where lanes begin.
    ///
    /// - Throws: also ``PipelineError/decisionNeeded(_:)`` where lanes have committed with another map.
    package func firstOffsets(
        at position: PipelineConfiguration.StartPosition
    ) throws -> [String: [TopicPartition: CommittedOffset]] {
        let delivery = configuration.delivery
        guard try lastCut()?.lanes != delivery.lanesHash else { return [:] }
        let dispatch = configuration.topics.dispatch
        var found: [String: [TopicPartition: CommittedOffset]] = [:]
        for lane in delivery.lanes.lanes {
            let group = DeliveryConfiguration.group(of: lane, in: configuration.groupID)
            let reader = try Consumer(assigning: configuration.kafka, group: group, logger: logger.clientSink)
            let partitions = try reader.partitions(of: dispatch, timeout: .seconds(10))
            let committed = try reader.committed(partitions, timeout: .seconds(10))
            let begun = partitions.filter { committed[$0] == nil }
            guard !begun.isEmpty else { continue }
            try requireNoOthers(than: lane)
            let retries = delivery.retryTopics(of: dispatch).flatMap { topic in
                begun.map { TopicPartition(topic: topic, partition: $0.partition) }
            }
            let offsets = try reader.offsets(at: position, of: begun, timeout: .seconds(10))
                .merging(try reader.endOffsets(retries, timeout: .seconds(10))) { $1 }
            found[group] = offsets.mapValues { offset in
                let first = LaneOffset(
                    offset: offset.value, partitions: Int32(partitions.count), lanes: delivery.lanesHash, isClean: true,
                    finished: [])
                return CommittedOffset(offset: offset, metadata: first.metadata)
            }
        }
        return found
    }

    /// Lanes with other names may have sent from here with another map: beginning anywhere but at a cut would send some
    /// records twice and others never.
    ///
    /// - Parameter lane: one that has never committed.
    func requireNoOthers(than lane: String) throws {
        let others = LaneCutPlan.others(try groups(), than: configuration.delivery.lanesHash)
        guard others.isEmpty else {
            throw PipelineError.decisionNeeded(
                "lane \(lane) has never committed, and these have, with other values of delivery.lanes or delivery.retry: "
                    + "\(others.joined(separator: ", ")); `carillon deliver lanes --cut`, with the new settings, records "
                    + "where they end")
        }
    }
}
