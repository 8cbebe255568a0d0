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
