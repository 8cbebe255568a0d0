/// The position of a record: a partition of a topic, and an offset there.
package struct RecordPosition: Hashable, Comparable, Sendable, Encodable, CustomStringConvertible {
    package var partition: TopicPartition
    package var offset: Int64

    package init(_ topic: String, _ partition: Int32, _ offset: Int64) {
        self.partition = TopicPartition(topic: topic, partition: partition)
        self.offset = offset
    }

    package init(_ partition: TopicPartition, _ offset: Int64) {
        self.partition = partition
        self.offset = offset
    }

    /// Reads ``description``; nil where it is none.
    package init?(parsing text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[0].isEmpty, let partition = Int32(parts[1]), partition >= 0,
            let offset = Int64(parts[2]), offset >= 0
        else { return nil }
        self.init(String(parts[0]), partition, offset)
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
