/// A record's header with bytes of its own.
public struct RecordHeader: Hashable, Sendable {
    public var name: String
    public var value: [UInt8]?

    public init(_ name: String, _ value: [UInt8]?) {
        self.name = name
        self.value = value
    }
}

/// A consumed record with bytes of its own.
public struct ConsumerRecord: Hashable, Sendable {
    public var topic: String
    public var partition: Int32
    public var offset: Offset
    public var timestamp: WallTime?
    public var key: [UInt8]?
    /// nil is a tombstone.
    public var value: [UInt8]?
    public var headers: [RecordHeader]
}
