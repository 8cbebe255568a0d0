import CRDKafka

/// A topic that a producer writes to; valid for the producer that made it.
public struct ProducerTopic: Hashable, Sendable {
    public let name: String
    public let partitionCount: Int32
    let index: Int
    let producer: UInt64
}

/// A record that will not reach its topic.
public struct DeliveryFailure: Sendable {
    /// The `tag` of the ``Producer`` call.
    public var tag: UInt64
    public var error: KafkaError
}

/// A record to produce, with bytes of its own.
public struct ProducerRecord: Hashable, Sendable {
    public var key: [UInt8]?
    /// nil is a tombstone.
    public var value: [UInt8]?
    public var headers: [RecordHeader]
    /// nil: by murmur2 of the key, as Java clients do; at random without a key.
    public var partition: Int32?
    public var timestamp: Timestamp?

    public init(
        key: [UInt8]?, value: [UInt8]?, headers: [RecordHeader] = [], partition: Int32? = nil,
        timestamp: Timestamp? = nil
    ) {
        self.key = key
        self.value = value
        self.headers = headers
        self.partition = partition
        self.timestamp = timestamp
    }
}

/// A producer, transactional when it has a `transactionalID`. One thread owns it.
public struct Producer: ~Copyable {
    public init(
        settings: Settings, transactionalID: String? = nil, logger sink: @escaping ClientLog.Sink = { _ in }
    ) throws(KafkaError) {}

    /// A handle for producing; fetches the topic's metadata, so that the first commit does not wait for it.
    public mutating func topic(_ name: String, timeout: Duration = .seconds(10)) throws(KafkaError) -> ProducerTopic {
        ProducerTopic(name: name, partitionCount: 0, index: 0, producer: 0)
    }

    /// Queues a record; the bytes are copied. On a full queue it serves delivery reports and waits.
    package mutating func produce(
        to topic: ProducerTopic, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
        headers: UnsafeBufferPointer<HeaderView> = UnsafeBufferPointer(start: nil, count: 0), partition: Int32? = nil,
        timestamp: Int64? = nil, tag: UInt64 = 0
    ) throws(KafkaError) {}

    /// The same from bytes of their own, for use off the hot path.
    public mutating func produce(_ record: ProducerRecord, to topic: ProducerTopic, tag: UInt64 = 0) throws(KafkaError)
    {}

    /// Serves delivery reports, errors and statistics.
    public mutating func poll(timeout: Duration) {}

    /// The records that failed for good since the last call; those that an abort purged are not among them.
    public mutating func takeFailures() -> [DeliveryFailure] { [] }

    /// Errors that came by themselves since the last call, the latest last; at most 100 are kept.
    public mutating func takeErrors() -> [KafkaError] { [] }

    /// The latest statistics since the last call.
    public mutating func takeStatistics() -> ClientStatistics? { nil }

    /// Records that are not delivered yet.
    public var inFlight: Int { 0 }
    public var fatalError: KafkaError? { nil }

    /// Waits until all is delivered; throws `.timedOut`.
    public mutating func flush(timeout: Duration) throws(KafkaError) {}

    /// Frees everything at once; what is not delivered is lost, and an open transaction is left to its timeout.
    public consuming func close() {}
}
