import KafkaClient
import Streaming

/// The follower's part in what ADR 56 decides.
extension TableFollower {
    /// The next offset of each partition.
    var offsets: [TopicPartition: Int64] {
        Dictionary(uniqueKeysWithValues: zip(partitions, position.offsets))
    }

    /// The same of those that are read.
    var offsetsRead: [TopicPartition: Int64] { offsets.filter { read.starts[$0.key] != nil } }

    func isHeld(_ partition: TopicPartition) -> Bool {
        read.starts[partition] == nil && context.holds.held[partition] != nil
    }

    /// The partitions that may be read now from these offsets.
    static func readable(
        _ topic: SubscriptionTopic, at offsets: [Int64], _ context: WorkerContext, _ logger: Logger
    ) -> FollowedPartitions {
        let partitions = offsets.indices.map { TopicPartition(topic: topic.name, partition: Int32($0)) }
        var readable = Set(partitions)
        // What is held is known once the starts are; the turn of a partition may be over at once.
        repeat {
            readable = context.holds.enter(.follower, partitions)
        } while !context.holds.take(
            .follower, starts(readable, offsets), ends: starts(readable, topic.endOffsets), logger)
        return FollowedPartitions(
            starts: starts(readable, offsets), isCareful: context.holds.current.map(readable.contains) ?? false)
    }

    static func makeConsumer(
        _ read: FollowedPartitions, of topic: String, _ context: WorkerContext, _ logger: Logger
    ) throws(KafkaError) -> any ReadingClient & ~Copyable {
        var settings = context.configuration.kafka
        settings["auto.offset.reset"] = "error"
        if read.isCareful { settings.merge(ClientSettings.oneBatchAtATime) { $1 } }
        var consumer = try context.clients.reader(
            settings, passes: context.holds.passed.ranges,
            onPassing: { context.board.passes($0.map { "\($0)" }, in: topic) }, logger.clientSink)
        try consumer.assign(read.starts.mapValues { Offset($0) })
        return consumer
    }

    private static func starts(_ partitions: Set<TopicPartition>, _ offsets: [Int64]) -> [TopicPartition: Int64] {
        Dictionary(uniqueKeysWithValues: partitions.map { ($0, offsets[Int($0.partition)]) })
    }

    /// Begins again with other partitions, where those that may be read have changed.
    mutating func considerHolds() throws {
        guard context.holds.isActive || read.isCareful else { return }
        for (index, partition) in partitions.enumerated() where isHeld(partition) {
            if let ends { context.holds.setBehind(ends[index] - position.offsets[index], partition) }
        }
        let progress = offsetsRead.mapValues { Holding.Progress(offset: $0, reached: $0) }
        let mustBegin = context.holds.reached(.follower, progress, bytes: records.byteCount, isReading: true)
        let isOver = read.isCareful && context.holds.current.map { read.starts[$0] != nil } != true
        if mustBegin || isOver { try replaceConsumer() }
    }
}

/// What the follower's consumer reads.
struct FollowedPartitions {
    var starts: [TopicPartition: Int64]
    /// It fetches one batch at a time.
    var isCareful: Bool
}
