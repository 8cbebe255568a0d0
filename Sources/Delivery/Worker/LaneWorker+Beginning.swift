import KafkaClient
import Notifications
import Pipeline

extension LaneWorker {
    /// Where partitions begin that the lane has never committed: the dispatch topic as a person has said, and the retry
    /// topics at their ends, since nothing in them is this lane's.
    func begin(_ partitions: [Int32]) throws -> [TopicPartition: Offset] {
        guard !partitions.isEmpty else { return [:] }
        let tiers = context.streams.filter { $0.kind == .orders && $0.tier != nil }
        return try toldOffsets(of: partitions)
            .merging(try consumer.endOffsets(topicPartitions(tiers, partitions), timeout: .seconds(10))) { $1 }
    }

    /// Where partitions begin whose broadcasts the lane has never committed: with the first broadcast that there is, and
    /// nobody has to say so; the retry topics at their ends, since nothing in them is this lane's.
    func beginBroadcasts(_ starts: [Int32: LaneStart]) throws(KafkaError) -> [TopicPartition: Offset] {
        let dispatch = LaneStream.dispatch(.broadcasts)
        guard context.broadcasts != nil else { return [:] }
        let partitions = starts.filter { $0.value.committed[context.place(dispatch)] == nil }.map(\.key).sorted()
        guard !partitions.isEmpty else { return [:] }
        let tiers = context.streams.filter { $0.kind == .broadcasts && $0.tier != nil }
        return try consumer.startOffsets(topicPartitions([dispatch], partitions), timeout: .seconds(10))
            .merging(try consumer.endOffsets(topicPartitions(tiers, partitions), timeout: .seconds(10))) { $1 }
    }

    func toldOffsets(of partitions: [Int32]) throws -> [TopicPartition: Offset] {
        let topics = partitions.map { TopicPartition(topic: context.topics[0], partition: $0) }
        switch context.start {
        case nil:
            // What has been written since then no other sender can have sent.
            if wasEmpty { return try consumer.startOffsets(topics, timeout: .seconds(10)) }
            throw PipelineError.decisionNeeded(
                "\(provider.rawValue) has no committed offsets in \(partitions.count) partitions: its first start needs --from "
                    + "earliest, latest or a time, or --from-group with the group of the sender that it replaces")
        case .group(let group):
            let other = try Consumer(assigning: context.configuration.kafka, group: group, logger: logger.clientSink)
            let found = try other.committed(topics, timeout: .seconds(5))
            if let missing = topics.first(where: { found[$0] == nil }) {
                throw PipelineError.decisionNeeded("--from-group: the group \(group) has no offset of \(missing)")
            }
            return found.mapValues(\.offset)
        case .position(let position): return try consumer.offsets(at: position, of: topics, timeout: .seconds(10))
        }
    }
}
