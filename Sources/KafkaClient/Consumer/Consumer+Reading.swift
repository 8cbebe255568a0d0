import CRDKafka

/// What one ``Consumer/read(limit:timeout:)`` found.
public struct ConsumerRead: Sendable {
    public var records: [ConsumerRecord] = []
    /// The ends that were reached: nothing below the offset is left to read.
    public var endsOfPartition: [TopicPartition: Offset] = [:]
    public var errors: [KafkaError] = []
}

extension Consumer {
    /// How many records are read between two looks at the queue's length.
    private static var recordsPerLook: Int { 256 }

    /// Reads from the data queue: blocks up to `timeout` for the first record, end mark or error, and takes the rest as long as there are any, until the batch has
    /// `limit` records or at least `maxBytes` bytes.
    ///
    /// One record a call of librdkafka: its batch calls lose records around a rebalance (kafka-rules 1). Wakes up a full queue.
    package mutating func fill(
        _ batch: inout RecordBatch, limit: Int, maxBytes: Int = .max, timeout: Duration
    ) {
        batch.keep(handle)
        queues.wakeUpIfLow()
        var wait = timeout.milliseconds
        var untilLook = Self.recordsPerLook
        var lastPartition: Int32 = -1
        let (recordsBefore, bytesBefore) = (batch.count, batch.byteCount)
        while batch.count < limit, batch.byteCount < maxBytes,
            let message = rd_kafka_consume_queue(queues.data, wait)
        {
            wait = 0
            guard message.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR else {
                batch.note(message, of: handle)
                rd_kafka_message_destroy(message)
                continue
            }
            if message.pointee.partition != lastPartition {
                lastPartition = message.pointee.partition
                queues.note(message)
            }
            batch.append(message)
            untilLook -= 1
            if untilLook == 0 {
                untilLook = Self.recordsPerLook
                queues.wakeUpIfLow()
            }
        }
        queues.noteSize(bytes: batch.byteCount - bytesBefore, records: batch.count - recordsBefore)
    }

    /// How many records the data queue holds ready.
    package var waitingRecords: Int { Int(rd_kafka_queue_length(queues.data)) }

    /// The same with records of their own bytes, for use off the hot path.
    public mutating func read(limit: Int, timeout: Duration) -> ConsumerRead {
        var batch = RecordBatch()
        fill(&batch, limit: limit, timeout: timeout)
        var read = ConsumerRead()
        read.records = (0..<batch.count).map { batch.record(at: $0) }
        read.endsOfPartition = Dictionary(batch.endsOfPartition.map { ($0.partition, $0.offset) }) { max($0, $1) }
        read.errors = batch.errors
        return read
    }
}
