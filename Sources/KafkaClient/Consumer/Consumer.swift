import CRDKafka

/// A consumer with two queues: control (rebalances, errors, statistics) and data. One thread owns it.
public struct Consumer: ~Copyable {
    /// A member of a group. `instance` is its `group.instance.id` (static membership).
    public init(
        settings: Settings, group: String, instance: String? = nil, logger sink: @escaping ClientLog.Sink = { _ in }
    ) throws(KafkaError) {}

    /// A reader that assigns its partitions itself and is a member of no group. `group` is only the name under which it may look up
    /// ``committed(_:timeout:)`` and ``commit(_:timeout:)``.
    public init(
        assigning settings: Settings, group: String? = nil, logger sink: @escaping ClientLog.Sink = { _ in }
    ) throws(KafkaError) {}

    public mutating func subscribe(to topics: [String]) throws(KafkaError) {}

    /// The next event of the control queue; nil after `timeout`.
    public mutating func nextEvent(timeout: Duration) -> ConsumerEvent? { nil }

    /// Starts reading at these positions: the answer to ``ConsumerEvent/assign(_:)``, or a reader's own choice.
    public mutating func assign(_ positions: [TopicPartition: Offset]) throws(KafkaError) {}

    /// Stops reading: the answer to ``ConsumerEvent/revoke(_:isLost:)``, after the owner has committed.
    public mutating func unassign() throws(KafkaError) {}

    /// What is assigned now.
    public var assignment: [TopicPartition] { [] }

    /// Moves assigned partitions: after an abort the consumer is not rewound by itself (kafka-rules 6).
    public mutating func seek(to positions: [TopicPartition: Offset], timeout: Duration) throws(KafkaError) {}

    /// Reads from the data queue: blocks up to `timeout` for the first record, and takes the rest as long as there are any, up to `limit` records or
    /// about `maxBytes` bytes in the batch.
    package mutating func fill(_ batch: inout RecordBatch, limit: Int, maxBytes: Int = .max, timeout: Duration) {}

    /// The same with records of their own bytes, for use off the hot path. End-of-partition marks and errors come with them.
    public mutating func read(limit: Int, timeout: Duration) -> ConsumerRead { ConsumerRead() }

    public var fatalError: KafkaError? { nil }
    public var memberID: String? { nil }
    /// The group's name.
    public var group: String { "" }

    /// Leaves (a static member does not: kafka-rules 21) and frees everything; takes at most about `timeout`.
    public consuming func close(timeout: Duration = .seconds(10)) {}
}

/// What one ``Consumer/read(limit:timeout:)`` found.
public struct ConsumerRead: Sendable {
    public var records: [ConsumerRecord] = []
    public var endsOfPartition: [TopicPartition: Offset] = [:]
    public var errors: [KafkaError] = []
}
