import Digests
import Events
import Glibc
import NotificationPayload

/// Who a dispatch record is: where its event stands, its message id, and its device. Two records with one identity are the
/// same push.
struct DispatchIdentity: Equatable {
    /// Where the event stands, or the offset that its timer's partition had reached.
    var partition: Int32
    var offset: Int64
    var isTimer: Bool
    /// Half of the SHA-256 of source, message id and key.
    var digest: Digest

    /// What sorts by the place of the event, its timers first.
    var place: [UInt8] {
        bigEndian(UInt32(bitPattern: partition)) + bigEndian(UInt64(bitPattern: offset)) + [isTimer ? 0 : 1]
    }

    var bytes: [UInt8] { place + digest.bytes }

    init(partition: Int32, offset: Int64, isTimer: Bool, digest: Digest) {
        self.partition = partition
        self.offset = offset
        self.isTimer = isTimer
        self.digest = digest
    }

    /// From ``bytes``, and whatever is behind them.
    init(decoding bytes: [UInt8]) {
        self = bytes.withUnsafeBytes { bytes in
            DispatchIdentity(
                partition: Int32(bitPattern: UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self))),
                offset: Int64(bitPattern: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt64.self))),
                isTimer: bytes[12] == 0, digest: Digest(UnsafeRawBufferPointer(rebasing: bytes[13..<29])))
        }
    }
}

/// 16 bytes of a SHA-256.
struct Digest: Hashable {
    private var high: UInt64
    private var low: UInt64

    init(_ bytes: UnsafeRawBufferPointer) {
        high = bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self)
        low = bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
    }

    init(hashing bytes: UnsafeRawBufferPointer) {
        self = withUnsafeTemporaryAllocation(byteCount: 32, alignment: 8) { hash in
            if let start = hash.baseAddress { SHA256.hash(bytes, into: start) }
            return Digest(UnsafeRawBufferPointer(hash))
        }
    }

    init(hashing bytes: [UInt8]) {
        self = bytes.withUnsafeBytes { Digest(hashing: $0) }
    }

    var bytes: [UInt8] { withUnsafeBytes(of: high) { Array($0) } + withUnsafeBytes(of: low) { Array($0) } }
}

/// Takes dispatch records to pieces that can be compared. One owner; the memory is used again.
struct DispatchReader: ~Copyable {
    private let topic: [UInt8]
    private let schedule = Array(EventBatch.scheduleTopic.utf8)
    private var text = ByteWriter(capacity: 4_096)

    /// - Parameter topic: of the events; records of another source are not ours.
    init(topic: String) {
        self.topic = Array(topic.utf8)
    }

    /// Nil for a record that does not come from the events of this pipeline.
    mutating func identity(
        key: UnsafeRawBufferPointer, headers: UnsafeBufferPointer<EventHeader>
    ) -> DispatchIdentity? {
        guard let source = value(of: "source", headers), let messageID = value(of: "message-id", headers),
            let (name, partition, offset) = Self.parse(source)
        else { return nil }
        let isTimer = name.elementsEqual(schedule)
        guard isTimer || name.elementsEqual(topic) else { return nil }
        text.removeAll()
        for part in [source, messageID, key] {
            text.append(part)
            text.append(0)
        }
        return DispatchIdentity(
            partition: partition, offset: offset, isTimer: isTimer, digest: Digest(hashing: text.bytes))
    }

    /// The hash of the value and of all headers in their order.
    mutating func content(
        value: UnsafeRawBufferPointer, headers: UnsafeBufferPointer<EventHeader>
    ) -> Digest {
        text.removeAll()
        append(value)
        for header in headers {
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

    private func value(of name: StaticString, _ headers: UnsafeBufferPointer<EventHeader>) -> UnsafeRawBufferPointer? {
        for header in headers where header.name.count == name.utf8CodeUnitCount {
            guard let start = header.name.baseAddress, memcmp(start, name.utf8Start, header.name.count) == 0 else {
                continue
            }
            return header.value
        }
        return nil
    }

    /// `topic/partition/offset`.
    static func parse(
        _ source: UnsafeRawBufferPointer
    ) -> (topic: UnsafeRawBufferPointer, partition: Int32, offset: Int64)? {
        guard let second = source.lastIndex(of: UInt8(ascii: "/")),
            let first = source[..<second].lastIndex(of: UInt8(ascii: "/")),
            let partition = number(source[(first + 1)..<second]).flatMap(Int32.init(exactly:)),
            let offset = number(source[(second + 1)...])
        else { return nil }
        return (UnsafeRawBufferPointer(rebasing: source[..<first]), partition, offset)
    }

    private static func number(_ digits: Slice<UnsafeRawBufferPointer>) -> Int64? {
        guard (1...18).contains(digits.count) else { return nil }
        var number: Int64 = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            number = number * 10 + Int64(digit - UInt8(ascii: "0"))
        }
        return number
    }
}
