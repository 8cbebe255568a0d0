import CRDKafka

/// A queue that the records of some partitions are forwarded to, and the requests that resume fetching after it was full.
///
/// Above `queued.min.messages` or `queued.max.messages.kbytes` librdkafka 2.0.2 does not fetch a partition again until
/// its broker thread next wakes, which takes up to 1 s. Any request to that broker wakes it. Source: docs/kafka.md, "A
/// full queue sleeps".
final class DataQueue {
    let pointer: OpaquePointer
    /// Keeps the client alive until the queue is destroyed.
    private let handle: ClientHandle
    private let recordLimit: Int
    private let byteLimit: Int
    /// It was over a limit, and the broker threads have not been woken since.
    private var wasOver = false
    /// The moving average of a record's size: librdkafka reports a queue's length, but not its bytes.
    private var meanBytes = 0
    private var lastWakeUp: ContinuousClock.Instant?
    /// A partition of each broker, whose watermarks are queried to wake the broker's thread.
    private var wakeUpCalls: [(broker: Int32, partition: TopicPartition)] = []

    init(of handle: ClientHandle) throws(KafkaError) {
        guard let pointer = rd_kafka_queue_new(handle.pointer) else {
            throw .configuration("librdkafka has no memory for a queue")
        }
        self.handle = handle
        self.pointer = pointer
        recordLimit = handle.settings["queued.min.messages"].flatMap(Int.init) ?? 100_000
        byteLimit = (handle.settings["queued.max.messages.kbytes"].flatMap(Int.init) ?? 65_536) * 1024
    }

    deinit {
        rd_kafka_queue_destroy(pointer)
    }

    /// The number of records and ends of partitions in it.
    var count: Int { Int(rd_kafka_queue_length(pointer)) }

    /// Records read between two checks of the queue's length.
    private static let recordsPerCheck = 256

    /// Takes what is queued, one record per librdkafka call: its batch calls lose records during a rebalance (docs/kafka.md 1).
    ///
    /// - Parameters:
    ///   - timeout: how long the first record, end of partition or error is waited for.
    ///   - take: owns what is no record.
    func fill(
        _ batch: inout RecordBatch, limit: Int, maxBytes: Int = .max, timeout: Duration = .zero,
        noRecord take: (UnsafeMutablePointer<rd_kafka_message_t>, inout RecordBatch) -> Void
    ) {
        wakeUpIfLow()
        var wait = timeout.milliseconds
        var untilCheck = Self.recordsPerCheck
        var lastPartition: Int32 = -1
        let (recordsBefore, bytesBefore) = (batch.count, batch.byteCount)
        while batch.count < limit, batch.byteCount < maxBytes, let message = rd_kafka_consume_queue(pointer, wait) {
            wait = 0
            guard message.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR else {
                take(message, &batch)
                continue
            }
            if message.pointee.partition != lastPartition {
                lastPartition = message.pointee.partition
                note(message)
            }
            batch.append(message)
            untilCheck -= 1
            if untilCheck == 0 {
                untilCheck = Self.recordsPerCheck
                wakeUpIfLow()
            }
        }
        noteSize(bytes: batch.byteCount - bytesBefore, records: batch.count - recordsBefore)
    }

    func forgetBrokers() {
        wakeUpCalls.removeAll(keepingCapacity: true)
        wasOver = false
    }

    /// Remembers which broker leads the record's partition.
    private func note(_ message: UnsafePointer<rd_kafka_message_t>) {
        let broker = rd_kafka_message_broker_id(message)
        guard broker >= 0 else { return }
        for index in wakeUpCalls.indices where wakeUpCalls[index].broker == broker { return }
        if let partition = message.partition { wakeUpCalls.append((broker, partition)) }
    }

    private func noteSize(bytes: Int, records: Int) {
        guard records > 0 else { return }
        let mean = bytes / records
        meanBytes = meanBytes == 0 ? mean : (meanBytes * 3 + mean) / 4
    }

    /// Wakes the broker threads once a full queue is half empty.
    private func wakeUpIfLow() {
        let length = count
        if length >= recordLimit || length * meanBytes >= byteLimit {
            wasOver = true
            return
        }
        guard wasOver, length * 2 < recordLimit, length * meanBytes * 2 < byteLimit else { return }
        let now = ContinuousClock.now
        if let lastWakeUp, lastWakeUp.duration(to: now) < .milliseconds(10) { return }
        lastWakeUp = now
        wasOver = false
        for (_, partition) in wakeUpCalls { wakeUp(for: partition) }
    }

    /// Wakes the thread of a partition's broker.
    func wakeUp(for partition: TopicPartition) {
        var low: Int64 = 0
        var high: Int64 = 0
        // The call times out at once, but the request is sent, and that wakes the thread.
        _ = rd_kafka_query_watermark_offsets(handle.pointer, partition.topic, partition.partition, &low, &high, 0)
    }
}
