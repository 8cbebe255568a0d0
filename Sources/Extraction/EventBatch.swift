import NotificationPayload

/// An instant in event time: milliseconds since 1970-01-01T00:00:00Z.
public struct EventTime: Hashable, Comparable, Sendable {
    public var milliseconds: Int64

    @inlinable
    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    @inlinable
    public static func < (left: EventTime, right: EventTime) -> Bool {
        left.milliseconds < right.milliseconds
    }
}

/// A run of UTF-8 bytes in the text of an ``EventBatch``.
public struct TextRange: Hashable, Sendable {
    @usableFromInline var start: UInt32
    @usableFromInline var length: UInt32

    @inlinable
    package init(start: Int, count: Int) {
        self.start = UInt32(start)
        self.length = UInt32(count)
    }

    /// The number of bytes.
    @inlinable public var count: Int { Int(length) }
    @inlinable public var isEmpty: Bool { length == 0 }
    @inlinable package var range: Range<Int> { Int(start)..<Int(start) + Int(length) }
    package static let empty = TextRange(start: 0, count: 0)
}

/// A record's header. The bytes belong to whoever filled the batch, and live until the batch is emptied.
public struct EventHeader {
    @usableFromInline package var name: UnsafeRawBufferPointer
    @usableFromInline package var value: UnsafeRawBufferPointer?

    @inlinable
    package init(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?) {
        self.name = name
        self.value = value
    }
}

/// A record of ``EventBatch/topic``. Key and value belong to whoever filled the batch, and live until the batch is emptied.
///
/// Nothing in it is counted or owned, so a copy is a copy of bytes: with a `String` in it, retains and releases were 2% of a run.
public struct EventRecord {
    @usableFromInline package var partition: Int32
    @usableFromInline package var offset: Int64
    /// The record's own timestamp; nil where the broker has none.
    @usableFromInline package var timestamp: EventTime?
    @usableFromInline package var key: UnsafeRawBufferPointer?
    @usableFromInline package var value: UnsafeRawBufferPointer?
    /// Where its headers are in ``EventBatch/headers``.
    @usableFromInline package var headers: Range<Int>

    @inlinable
    package init(
        partition: Int32, offset: Int64, timestamp: EventTime?,
        key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?, headers: Range<Int> = 0..<0
    ) {
        self.partition = partition
        self.offset = offset
        self.timestamp = timestamp
        self.key = key
        self.value = value
        self.headers = headers
    }
}

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
