import CRDKafka

/// The result of ``Consumer/read(limit:timeout:)``.
public struct ConsumerRead: Sendable {
    public var records: [ConsumerRecord] = []
    /// The partitions whose end was reached: every record below the offset has been read.
    public var endsOfPartition: [TopicPartition: Offset] = [:]
    public var errors: [KafkaError] = []
    /// Those that were passed, each with a record in its place.
    public var unreadable: [UnreadableBatch] = []
}

extension Consumer {
    /// Reads from a data queue. Blocks for up to `timeout` for the first record, end of partition or error, then
    /// takes what is queued, until the batch has `limit` records or at least `maxBytes` bytes.
    ///
    /// Resumes fetching after the queue was full (see ``DataQueue``).
    ///
    /// - Parameter number: of the queue, from 0; see ``init(settings:group:instance:queuesOf:logger:)``.
    package mutating func fill(
        _ batch: inout RecordBatch, from number: Int = 0, limit: Int, maxBytes: Int = .max, timeout: Duration
    ) {
        batch.keep(handle)
        if !owed.isEmpty { return fillOwed(&batch, from: number) }
        let queue = queues.data[number]
        queue.fill(&batch, limit: limit, maxBytes: maxBytes, timeout: timeout) { note($0, in: &$1) }
    }

    /// Takes what is no record: an unreadable batch, the end of a partition, or an error. Owns the message.
    private mutating func note(_ message: UnsafeMutablePointer<rd_kafka_message_t>, in batch: inout RecordBatch) {
        do throws(KafkaError) {
            if let unreadable = try pass(message) { return batch.append(unreadable, in: message) }
        } catch {
            batch.errors.append(error)
        }
        batch.note(message, of: handle)
        rd_kafka_message_destroy(message)
    }

    /// The number of records in the data queues.
    package var waitingRecords: Int { owed.count + queues.data.reduce(0) { $0 + $1.count } }

    /// The number of records in a data queue.
    package func waitingRecords(in queue: Int) -> Int {
        queues.data[queue].count + owed.count { queues.number(of: $0.partition.topic) == queue }
    }

    /// Waits until one of several data queues has something, for at most `timeout`; returns at once with a single one.
    ///
    /// - Parameter numbers: the queues whose records are wanted now; nil: all.
    package func waitForRecords(in numbers: [Int]? = nil, timeout: Duration) {
        if owed.isEmpty { queues.wait(for: numbers, timeout: timeout) }
    }

    /// Like ``fill(_:limit:maxBytes:timeout:)``, but copies the records: not for the hot path.
    public mutating func read(limit: Int, timeout: Duration) -> ConsumerRead {
        var batch = RecordBatch()
        fill(&batch, limit: limit, timeout: timeout)
        var read = ConsumerRead()
        read.records = (0..<batch.count).map { batch.record(at: $0) }
        read.endsOfPartition = Dictionary(batch.endsOfPartition.map { ($0.partition, $0.offset) }) { max($0, $1) }
        read.errors = batch.errors
        read.unreadable = batch.unreadable
        return read
    }
}
