import KafkaClient
import Pipeline
import Streaming

/// What a lane has read and not handed in, topic by topic.
struct LaneIntake: ~Copyable {
    /// By the numbers of their queues.
    let streams: [StreamIntake]
    private var reader: LaneRecordReader
    private var errors: [KafkaError] = []
    /// Records of the lane's topics that it has not finished; nil until the first measurement.
    var lag: Int?

    init(_ context: DeliveryContext, _ provider: Platform) {
        streams = zip(context.streams, context.topics).enumerated().map { number, each in
            StreamIntake(each.0, queue: number, topic: each.1)
        }
        readOrder = PushKind.allCases.flatMap { kind in
            context.streams.indices.reversed().filter { context.streams[$0].kind == kind }
        }
        reader = LaneRecordReader(context, provider)
    }

    /// Orders before broadcasts, and retries before new records, which wait for them.
    let readOrder: [Int]

    /// What a record of the topic's batch is to this lane.
    mutating func read(_ stream: StreamIntake) -> LaneRecordReader.Finding { stream.readFirst(&reader) }

    /// What a record is that is read again.
    mutating func read(
        _ record: RecordView, _ headers: [HeaderView], of stream: LaneStream
    ) -> LaneRecordReader.Finding {
        reader.read(record, headers, from: stream)
    }

    /// - Returns: whether something has arrived.
    mutating func fill(_ stream: StreamIntake, with consumer: inout Consumer) -> Bool {
        stream.fill(with: &consumer, into: &errors)
    }

    /// How many partitions share what may wait.
    func share(among partitions: Int) {
        for stream in streams { stream.share(among: partitions) }
    }

    /// The consumer's errors since the last call.
    mutating func takeErrors() -> [KafkaError] {
        defer { errors.removeAll() }
        return errors
    }

    /// Forgets what was read: the partitions are another process's, or are read again.
    mutating func removeAll() {
        for stream in streams { stream.removeAll() }
        errors.removeAll()
        lag = nil
    }
}

/// One topic of a lane: the batch that was read last, and by partition what has to wait. One owner.
final class StreamIntake {
    /// So many records and bytes may wait, by equal shares of the partitions; more stay in Kafka.
    private static let mostWaiting = 20_000
    private static let mostBytes = 32 << 20
    private static let batchSize = 500

    let stream: LaneStream
    let topic: String
    private let queue: Int
    private var batch = RecordBatch()
    /// The first record of the batch that was not looked at.
    private var next = 0
    private var waiting: [Int32: PartitionIntake] = [:]
    private var partitionCount = 1
    /// Notices a consumer that gets nothing of the topic.
    var watch = ConsumerWatch()

    init(_ stream: LaneStream, queue: Int, topic: String) {
        self.stream = stream
        self.queue = queue
        self.topic = topic
    }

    var isRead: Bool { next == batch.count }
    var isIdle: Bool { isRead && waiting.values.allSatisfy(\.isIdle) }

    /// The partition of the first record of the batch.
    var partition: Int32? { isRead ? nil : batch[next].partition }

    /// The offset of the first record of the batch, and its timestamp.
    var first: (offset: Int64, timestamp: WallTime)? {
        guard !isRead else { return nil }
        let record = batch[next]
        return (record.offset, record.timestamp ?? .epoch)
    }

    func fill(with consumer: inout Consumer, into errors: inout [KafkaError]) -> Bool {
        guard isRead else { return false }
        batch.removeAll()
        next = 0
        consumer.fill(&batch, from: queue, limit: Self.batchSize, timeout: .zero)
        errors += batch.errors
        guard !batch.isEmpty || !batch.endsOfPartition.isEmpty else { return false }
        watch.progressed(hasRecords: !batch.isEmpty)
        return true
    }

    fileprivate func readFirst(_ reader: inout LaneRecordReader) -> LaneRecordReader.Finding {
        reader.read(batch[next], batch.headers, from: stream)
    }

    func removeFirst() { next += 1 }

    /// The ends of partitions that the batch has reached, once each of its records was looked at.
    func takeEnds() -> [(partition: Int32, offset: Int64)] {
        guard isRead else { return [] }
        return batch.endsOfPartition.map { ($0.partition.partition, $0.offset.value) }
    }

    // MARK: What waits

    func isWaiting(_ partition: Int32) -> Bool { waiting[partition].map { !$0.isIdle } ?? false }

    func share(among partitions: Int) { partitionCount = max(1, partitions) }

    func wait(_ record: PartitionIntake.Waiting) {
        waiting[record.record.partition, default: PartitionIntake()].append(
            record, most: Self.mostWaiting / partitionCount, mostBytes: Self.mostBytes / partitionCount)
    }

    /// Whether the first record of the batch comes in its turn; not if it is behind one that was left in Kafka.
    func isFirstNext() -> Bool {
        guard let partition, let first else { return false }
        return waiting[partition]?.isNext(first.offset) ?? true
    }

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
    var partitions: [Int32] { waiting.filter { !$0.value.isEmpty }.map(\.key) }

    /// When the oldest record was appended that was read and not handed in.
    var oldest: WallTime? {
        let first = isRead ? nil : batch[next].timestamp
        return (waiting.values.compactMap { $0.first?.appendedAt } + (first.map { [$0] } ?? [])).min()
    }

    func firstWaiting(_ partition: Int32) -> PartitionIntake.Waiting? { waiting[partition]?.first }

    func removeFirstWaiting(_ partition: Int32) {
        waiting[partition]?.removeFirst()
    }

    func removeAll() {
        batch.removeAll()
        next = 0
        waiting.removeAll()
    }
}
