import Digests
import NotificationPayload

/// The identity of a dispatch record: the coordinates of its event, its message id, and its device. Two records with the same
/// identity are the same push.
struct DispatchIdentity: Hashable {
    /// Its coordinates; for a timer, the offset that its partition had reached.
    var event: EventCoordinates
    var isTimer: Bool
    /// The first half of the SHA-256 of source, message id and key.
    var digest: Digest

    /// By the coordinates of the event, its timers first.
    var sortKey: [UInt8] { event.bytes + [isTimer ? 0 : 1] }

    init(_ event: EventCoordinates, isTimer: Bool, digest: Digest) {
        self.event = event
        self.isTimer = isTimer
        self.digest = digest
    }

    /// From the bytes of its sort key and its digest.
    init(decoding bytes: [UInt8]) {
        self = bytes.withUnsafeBytes { bytes in
            DispatchIdentity(
                EventCoordinates(decoding: bytes), isTimer: bytes[12] == 0,
                digest: Digest(UnsafeRawBufferPointer(rebasing: bytes[13..<29])))
        }
    }
}

/// 16 bytes of a SHA-256.
struct Digest: Hashable, ScratchValue {
    private var high: UInt64
    private var low: UInt64

    init(_ bytes: UnsafeRawBufferPointer) {
        high = bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self)
        low = bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
    }

    init(hashing bytes: UnsafeRawBufferPointer) {
        self = SHA256.withHash(of: bytes) { Digest(UnsafeRawBufferPointer(start: $0, count: 32)) }
    }

    init(hashing bytes: [UInt8]) {
        self = bytes.withUnsafeBytes { Digest(hashing: $0) }
    }

    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        withUnsafeBytes(of: self) { $0.bind(to: statement, at: index) }
    }

    var bytes: [UInt8] { withUnsafeBytes(of: high) { Array($0) } + withUnsafeBytes(of: low) { Array($0) } }
}

/// Splits dispatch records into parts that can be compared. One owner; reuses its memory.
struct DispatchReader: ~Copyable {
    private let sources: SourceTopics
    private let schedule = Array(EventBatch.scheduleTopic.utf8)
    private var text = ByteWriter(capacity: 4_096)

    /// - Parameter topics: records with a source that is none of them are foreign.
    init(topics: PipelineConfiguration.Topics) {
        sources = SourceTopics(topics)
    }

    /// Nil for a record that does not come from the events or requests of this pipeline.
    mutating func identity(of record: DispatchRecord) -> DispatchIdentity? {
        guard let source = record[.source].flatMap(DispatchRecord.Source.init), let messageID = record[.messageID]
        else { return nil }
        let isTimer = source.topic.elementsEqual(schedule)
        guard let kind = isTimer ? .orders : sources.source(of: source.topic) else { return nil }
        text.removeAll()
        for part in [source.text, messageID, record.key] {
            text.append(part)
            text.append(0)
        }
        return DispatchIdentity(
            EventCoordinates(SourcePartition(kind, source.partition), offset: source.offset), isTimer: isTimer,
            digest: Digest(hashing: text.bytes))
    }

    /// The hash of the value and of all headers in their order.
    mutating func content(of record: DispatchRecord) -> Digest {
        text.removeAll()
        append(record.value)
        for header in record.headers {
            append(header.name)
            if let value = header.value { append(value) } else { text.append(decimal: -1) }
        }
        return Digest(hashing: text.bytes)
    }

    private mutating func append(_ bytes: UnsafeRawBufferPointer) {
        text.append(decimal: Int64(bytes.count))
        text.append(UInt8(ascii: ":"))
        text.append(bytes)
    }
}
