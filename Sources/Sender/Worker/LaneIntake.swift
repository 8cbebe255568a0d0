import KafkaClient
import Pipeline

/// What a lane has read and not handed in, topic by topic.
struct LaneIntake: ~Copyable {
    /// By the indices of their topics among the inputs.
    let streams: [StreamIntake]
    private var reader: LaneRecordReader

    init(_ context: SenderContext, _ provider: Platform) {
        streams = context.readOrder.map { StreamIntake(context.streams[$0], topic: context.topics[$0]) }
        reader = LaneRecordReader(context, provider)
    }

    /// What a record is to this lane.
    mutating func read(
        _ record: RecordView, _ headers: [HeaderView], of stream: LaneStream
    ) -> LaneRecordReader.Finding {
        reader.read(record, headers, from: stream)
    }

    /// How many partitions share what may wait.
    func share(among partitions: Int) {
        for stream in streams { stream.share(among: partitions) }
    }

    /// Forgets what was read: the partitions are another process's, or are read again.
    func removeAll() {
        for stream in streams { stream.removeAll() }
    }
}

/// What was read of a topic of a lane and has to wait, by partition. One owner.
final class StreamIntake {
    /// So many records and bytes may wait, by equal shares of the partitions; more stay in Kafka.
    var mostWaiting = 20_000
    private static let mostBytes = 32 << 20

    let stream: LaneStream
    let topic: String
    private var waiting: [Int32: PartitionIntake] = [:]
    private var partitionCount = 1
    /// When the first record was appended that was read and not taken; nil: there is none.
    var left: WallTime?

    init(_ stream: LaneStream, topic: String) {
        self.stream = stream
        self.topic = topic
    }

    var isIdle: Bool { waiting.values.allSatisfy(\.isIdle) }

    // MARK: What waits

    func isWaiting(_ partition: Int32) -> Bool { waiting[partition].map { !$0.isIdle } ?? false }

    func share(among partitions: Int) { partitionCount = max(1, partitions) }

    func wait(_ record: PartitionIntake.Waiting) {
        waiting[record.record.partition, default: PartitionIntake()].append(
            record, most: mostWaiting / partitionCount, mostBytes: Self.mostBytes / partitionCount)
    }

    /// Whether a record comes in its turn; not if it is behind one that was left in Kafka.
    func isNext(_ offset: Int64, _ partition: Int32) -> Bool { waiting[partition]?.isNext(offset) ?? true }

    /// Where partitions are to be read again.
    func takeLeft() -> [TopicPartition: Offset] {
        var left: [TopicPartition: Offset] = [:]
        for partition in waiting.keys {
            guard let offset = waiting[partition]?.takeLeft() else { continue }
            left[TopicPartition(topic: topic, partition: partition)] = Offset(offset)
        }
        return left
    }

    /// Counts when what waits in the partition has been handed in.
    func reach(_ offset: Int64, _ partition: Int32) { waiting[partition, default: PartitionIntake()].reach(offset) }

    func takeReached(_ partition: Int32) -> Int64? { waiting[partition]?.takeReached() }

    /// The partitions in which something waits.
    var partitions: [Int32] { waiting.filter { !$0.value.isEmpty }.map(\.key).sorted() }

    /// When the oldest record was appended that was read and not handed in.
    var oldest: WallTime? { (waiting.values.map { $0.first?.appendedAt } + [left]).compactMap(\.self).min() }

    func firstWaiting(_ partition: Int32) -> PartitionIntake.Waiting? { waiting[partition]?.first }

    func removeFirstWaiting(_ partition: Int32) {
        waiting[partition]?.removeFirst()
    }

    func removeAll() {
        left = nil
        waiting.removeAll()
    }
}
