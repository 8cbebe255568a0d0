import NotificationPayload

/// Records in, notifications out, side by side in buffers that are reused from batch to batch.
public struct EventBatch: ~Copyable {
    /// Where all its records stand.
    @usableFromInline package var topic: String
    @usableFromInline package var records: [EventRecord] = []
    @usableFromInline package var headers: [EventHeader] = []
    /// In the order of the records.
    public package(set) var notifications: [Notification] = []
    /// The bytes that every ``TextRange`` of the notifications points into.
    @usableFromInline package var text = ByteWriter(capacity: 64 << 10)

    /// The text that is enough for a transaction, in bytes. One event adds 80 MB at most, and a ``TextRange`` reaches to 4 GB.
    private static let fullCount = 64 << 20

    /// - Parameter topic: where its records stand; part of a message id where an event has no id of its own (push-rules §6).
    public init(topic: String) {
        self.topic = topic
    }

    /// Whether it holds so much text that no further record should be extracted into it.
    package var isFull: Bool { text.count >= Self.fullCount }

    /// Empties the batch; keeps its memory and its topic.
    package mutating func removeAll() {
        records.removeAll(keepingCapacity: true)
        headers.removeAll(keepingCapacity: true)
        notifications.removeAll(keepingCapacity: true)
        text.removeAll()
    }

    /// Adds a text.
    package mutating func append(_ bytes: UnsafeRawBufferPointer) -> TextRange {
        let start = text.count
        text.append(bytes)
        return TextRange(start: start, count: bytes.count)
    }

    /// A copy of the text as a string.
    public func string(_ range: TextRange) -> String {
        String(decoding: bytes(range), as: UTF8.self)
    }

    /// The document's `default` string, a copy.
    public func payload(of notification: Notification) -> String {
        String(unembedding: bytes(notification.payload))
    }

    /// The bytes of a text: good until the next text is added or the batch is emptied.
    @inlinable @inline(__always)
    package borrowing func bytes(_ range: TextRange) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: text.bytes[range.range])
    }

    /// A copy of the value of the record that a notification was made from.
    public func recordValue(of notification: Notification) -> [UInt8] {
        records[notification.record].value.map { Array($0) } ?? []
    }
}
