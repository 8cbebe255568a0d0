/// A partition of a topic.
public struct TopicPartition: Hashable, Comparable, Sendable, CustomStringConvertible {
    public var topic: String
    public var partition: Int32

    public init(topic: String, partition: Int32) {
        self.topic = topic
        self.partition = partition
    }

    public static func < (left: TopicPartition, right: TopicPartition) -> Bool {
        (left.topic, left.partition) < (right.topic, right.partition)
    }

    /// `orders.events/3`
    public var description: String { "\(topic)/\(partition)" }
}

/// The position of a record in its partition; never negative. librdkafka's logical offsets (beginning, end, none) are
/// never represented as one.
public struct Offset: Hashable, Comparable, Sendable, CustomStringConvertible {
    public var value: Int64

    @inlinable
    public init(_ value: Int64) {
        self.value = value
    }

    @inlinable
    public static func < (left: Offset, right: Offset) -> Bool { left.value < right.value }

    public var description: String { String(value) }
}

/// What a group has committed for a partition: the next offset to read, and the metadata stored with it.
public struct CommittedOffset: Hashable, Sendable {
    public var offset: Offset
    /// "" if there is none. The broker refuses more than `offset.metadata.max.bytes` (4,096) bytes.
    public var metadata: String

    public init(offset: Offset, metadata: String = "") {
        self.offset = offset
        self.metadata = metadata
    }
}
