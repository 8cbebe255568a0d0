import CRDKafka

/// A topic that a producer writes to; valid for the producer that made it.
public struct ProducerTopic: Hashable, Sendable {
    public let name: String
    public let partitionCount: Int32
    package let index: Int
    let producer: UInt64

    package init(name: String, partitionCount: Int32, index: Int, producer: UInt64) {
        self.name = name
        self.partitionCount = partitionCount
        self.index = index
        self.producer = producer
    }
}

/// A record to produce, with bytes of its own.
public struct ProducerRecord: Hashable, Sendable {
    public var key: [UInt8]?
    /// nil is a tombstone.
    public var value: [UInt8]?
    public var headers: [RecordHeader]
    /// nil: by murmur2 of the key, as Java clients do; at random without a key.
    public var partition: Int32?
    /// nil: now.
    public var timestamp: WallTime?

    public init(
        key: [UInt8]?, value: [UInt8]?, headers: [RecordHeader] = [], partition: Int32? = nil,
        timestamp: WallTime? = nil
    ) {
        self.key = key
        self.value = value
        self.headers = headers
        self.partition = partition
        self.timestamp = timestamp
    }
}

/// A record that will not reach its topic.
public struct DeliveryFailure: Sendable {
    /// The `tag` it was produced with.
    public var tag: UInt64
    public var error: KafkaError
}

/// What became of one record.
public struct DeliveryReport: Sendable {
    public enum Outcome: Sendable {
        case written(partition: Int32, offset: Int64)
        /// Certainly not: it was never sent, or the broker refused it.
        case notWritten(KafkaError)
        /// It was sent, and nobody knows whether it was written.
        case unknown(KafkaError)
    }

    /// The `tag` it was produced with.
    public var tag: UInt64
    public var outcome: Outcome

    init(_ message: UnsafePointer<rd_kafka_message_t>) {
        tag = UInt64(UInt(bitPattern: message.pointee._private))
        guard message.pointee.err != RD_KAFKA_RESP_ERR_NO_ERROR else {
            outcome = .written(partition: message.pointee.partition, offset: message.pointee.offset)
            return
        }
        let error = KafkaError(message.pointee.err, of: .producer, operation: "produce", partition: message.partition)
        outcome =
            rd_kafka_message_status(message) == RD_KAFKA_MSG_STATUS_NOT_PERSISTED ? .notWritten(error) : .unknown(error)
    }
}
