/// The position of a record: a partition of a topic, and an offset there.
package struct RecordPosition: Hashable, Comparable, Sendable, Encodable, CustomStringConvertible {
    package var partition: TopicPartition
    package var offset: Int64

    package init(_ topic: String, _ partition: Int32, _ offset: Int64) {
        self.partition = TopicPartition(topic: topic, partition: partition)
        self.offset = offset
    }

    package static func < (left: RecordPosition, right: RecordPosition) -> Bool {
        (left.partition, left.offset) < (right.partition, right.offset)
    }

    /// `orders.events/3/4711`
    package var description: String { "\(partition)/\(offset)" }

    package func encode(to encoder: any Encoder) throws {
        var text = encoder.singleValueContainer()
        try text.encode(description)
    }
}
