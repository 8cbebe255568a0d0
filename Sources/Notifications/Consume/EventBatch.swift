import NotificationPayload

/// Records in, notifications out, side by side in buffers that are reused from batch to batch.
public struct EventBatch: ~Copyable {
    /// What its records are; chosen once, since a batch has one topic.
    public let source: SourceKind
    /// The topic of all its records.
    @usableFromInline package var topic: String
    @usableFromInline package var records: [EventRecord] = []
    @usableFromInline package var headers: [EventHeader] = []
    /// Records that stand for what could not be read, by partition and offset, and why.
    package var unreadable: [(partition: Int32, offset: Int64, letter: DeadLetter)] = []
    /// In the order of the records.
    public package(set) var notifications: [Notification] = []
    /// What the notifications of requests say.
    public package(set) var requests: [RequestNotification] = []
    /// The audiences that requests name, and those of orders that the settings name.
    public package(set) var audiences: [TextRange] = []
    /// The bytes that every ``TextRange`` of the notifications points into.
    @usableFromInline package var text = ByteWriter(capacity: 64 << 10)

    /// The size at which the text suffices for one transaction, in bytes. One event adds at most 120 MB,
    /// and a ``TextRange`` reaches to 4 GB.
    private static let fullCount = 64 << 20

    /// - Parameter topic: the topic of its records; part of the message id of an event without an id of its own
    ///   (docs/rules.md §6).
    public init(_ source: SourceKind, topic: String) {
        self.source = source
        self.topic = topic
    }

    /// Whether its text is so large that no further record should be extracted into it.
    package var isFull: Bool { text.count >= Self.fullCount }

    /// Empties the batch; keeps its memory and its topic.
    package mutating func removeAll() {
        records.removeAll(keepingCapacity: true)
        headers.removeAll(keepingCapacity: true)
        unreadable.removeAll(keepingCapacity: true)
        removeNotifications()
    }

    /// Removes what was extracted; the records stay.
    package mutating func removeNotifications() {
        notifications.removeAll(keepingCapacity: true)
        requests.removeAll(keepingCapacity: true)
        audiences.removeAll(keepingCapacity: true)
        text.removeAll()
    }

    /// What a record of this batch is called outside it.
    package func partition(of record: EventRecord) -> SourcePartition { SourcePartition(source, record.partition) }

    /// Adds a text.
    package mutating func append(_ bytes: UnsafeRawBufferPointer) -> TextRange {
        let start = text.count
        text.append(bytes)
        return TextRange(start: start, count: bytes.count)
    }

    /// Adds an audience; false, and nothing is added, if it is none that a device may be subscribed to.
    package mutating func append(_ kind: Audience, id: UnsafeRawBufferPointer) -> Bool {
        guard id.count <= Audience.maxCount else { return false }
        let start = text.count
        text.append(kind.prefix)
        text.append(id)
        let range = TextRange(start: start, count: text.count - start)
        guard Audience(of: bytes(range)) != nil else {
            text.truncate(to: start)
            return false
        }
        audiences.append(range)
        return true
    }

    /// Takes back what was added since then.
    package mutating func truncate(notifications: Int, audiences: Int, text: Int) {
        self.notifications.removeLast(self.notifications.count - notifications)
        self.audiences.removeLast(self.audiences.count - audiences)
        self.text.truncate(to: text)
    }

    /// A copy of the text as a string.
    public func string(_ range: TextRange) -> String {
        String(decoding: bytes(range), as: UTF8.self)
    }

    /// A copy of what the app gets: for an order, the document's `default` string.
    public func payload(of notification: Notification) -> String {
        String(unembedding: bytes(notification.payload))
    }

    /// The bytes of a text, valid until the next text is added or the batch is emptied.
    @inlinable @inline(__always)
    package borrowing func bytes(_ range: TextRange) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: text.bytes[range.range])
    }
}
