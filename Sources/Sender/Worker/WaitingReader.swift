import Hosting
import KafkaClient
import Streaming

/// Reads what waits in Kafka again, with a client of its own, which is made when something does.
///
/// It goes over a partition from the lowest offset that is wanted upwards, as an elevator does: what many devices want is
/// near each other, and one that wants every record is read in sequence. One owner.
struct WaitingReader: ~Copyable {
    /// Where a partition is read.
    private struct Cursor {
        var next: Int64
        /// When it began there, or something came.
        var since: ContinuousClock.Instant
    }

    /// What is wanted within so many records ahead comes with them.
    private static let reach: Int64 = 1_000
    private static let batchSize = 500
    /// A partition that nothing comes of is begun again, or ended.
    private static let patience = Duration.seconds(10)

    private let clients: any Clients
    private let time: TimeSource
    private let settings: Settings
    private let signal: QueueSignal
    private let sink: ClientLog.Sink
    private var reader: (any PartitionClient & ~Copyable)?
    private var cursors: [TopicPartition: Cursor] = [:]
    private var batch = RecordBatch()

    init(
        _ clients: any Clients, _ kafka: Settings, _ time: TimeSource, signal: QueueSignal,
        logger sink: @escaping ClientLog.Sink
    ) {
        self.clients = clients
        self.time = time
        settings = kafka.merging([
            "fetch.message.max.bytes": "262144", "queued.min.messages": "1000", "queued.max.messages.kbytes": "1024",
        ]) { $1 }
        self.signal = signal
        self.sink = sink
    }

    var isIdle: Bool { cursors.isEmpty }

    /// Reads on in a partition, or begins where the first wanted record is.
    ///
    /// - Parameters:
    ///   - wanted: the first offset that is wanted, from one on.
    ///   - take: receives each record of a batch.
    /// - Returns: what librdkafka reports.
    mutating func read(
        _ partition: TopicPartition, wanted: (Int64) -> Int64?, take: (RecordView, [HeaderView]) -> Void
    ) throws(KafkaError) -> [KafkaError] {
        if let cursor = cursors[partition] {
            batch.removeAll()
            reader?.fill(&batch, from: partition, limit: Self.batchSize)
            for index in 0..<batch.count { take(batch[index], batch.headers) }
            if batch.count > 0 {
                cursors[partition] = Cursor(next: batch[batch.count - 1].offset + 1, since: time.now())
            }
            if !batch.errors.isEmpty || time.now() - cursor.since > Self.patience { stop(partition) }
        }
        let errors = batch.errors
        batch.removeAll()
        guard let offset = wanted(cursors[partition]?.next ?? 0) ?? wanted(0) else { return errors }
        if let next = cursors[partition]?.next, next <= offset, offset - next <= Self.reach { return errors }
        if reader == nil { reader = try clients.reader(settings, signal, sink) }
        try reader?.start(partition, at: offset)
        cursors[partition] = Cursor(next: offset, since: time.now())
        return errors
    }

    /// Nothing is wanted of a partition: after a while it is not read any more.
    mutating func rest(_ partition: TopicPartition) {
        if let cursor = cursors[partition], time.now() - cursor.since > Self.patience { stop(partition) }
    }

    private mutating func stop(_ partition: TopicPartition) {
        reader?.stop(partition)
        cursors[partition] = nil
    }

    /// Ends reading: nothing is wanted any more.
    mutating func removeAll() {
        for partition in cursors.keys { stop(partition) }
    }
}
