import Digests
import JSONReader
import NotificationPayload

/// The identity of an event, and the message ids derived from it (docs/rules.md §6).
///
/// `msg-{ms}-{9 characters of base 36}`: the same event gives the same id whenever and wherever it is read.
package struct MessageIdentity: ~Copyable {
    /// The unit separator between the parts of the input.
    private static let separator: UInt8 = 0x1F
    /// 36^9.
    private static let modulus: UInt64 = 101_559_956_668_416
    /// `msg-`, at most 19 digits, `-`, 9 characters.
    package static let maxCount = 33

    private var input = ByteWriter(capacity: 512)
    private var beginning = SHA256.Beginning(UnsafeRawBufferPointer(start: nil, count: 0))
    /// Whether the event has an id of its own, and not only coordinates.
    package private(set) var isOwn = false
    /// 64 bits of the hash behind the latest message id, none of which is in the id.
    package private(set) var fingerprint: UInt64 = 0

    /// Begins the input of an event: `v1`, the tag, and the source, in one or several parts.
    ///
    /// - Parameter isOwn: false if the source is the coordinates of a record.
    package mutating func begin(tag: StaticString, isOwn: Bool = true) {
        self.isOwn = isOwn
        input.removeAll()
        input.append("v1")
        input.append(Self.separator)
        input.append(tag)
    }

    package mutating func append(_ part: UnsafeRawBufferPointer) {
        input.append(Self.separator)
        input.append(part)
    }

    package mutating func append(_ number: Int64) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: JSONNumberText.maxCount) { digits in
            guard let base = digits.baseAddress else { return }
            let count = JSONNumberText.write(number, to: base)
            append(UnsafeRawBufferPointer(start: base, count: count))
        }
    }

    /// The first 16 bytes of a hash of what was appended so far and of the key of the event's record.
    mutating func hash(with key: UnsafeRawBufferPointer?) -> (high: UInt64, low: UInt64) {
        let count = input.count
        if let key { input.append(key) }
        // No other source and key have these bytes.
        withUnsafeBytes(of: UInt64(count)) { input.append($0) }
        defer { input.truncate(to: count) }
        return SHA256.withHash(of: input.bytes) { hash in
            (hash.load(as: UInt64.self), hash.load(fromByteOffset: 8, as: UInt64.self))
        }
    }

    /// Ends the input that all notifications of the event share.
    ///
    /// - Parameter type: the type of the event.
    package mutating func end(type: UnsafeRawBufferPointer) {
        append(type)
        input.append(Self.separator)
        beginning = SHA256.Beginning(input.bytes)
    }

    /// Writes the message id of one order, and returns its length; the buffer must hold ``maxCount`` bytes. Costs the same
    /// for every order of an event, however long the event's own id is.
    ///
    /// - Parameter eventTime: at or after 1970.
    package mutating func write(
        orderID: UnsafeRawBufferPointer, eventTime: WallTime, to buffer: UnsafeMutablePointer<UInt8>
    ) -> Int {
        var digest: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        withUnsafeMutableBytes(of: &digest) { digest in
            beginning.hash(orderID, into: digest.baseAddress!)
        }
        fingerprint = digest.1
        buffer[0] = UInt8(ascii: "m")
        buffer[1] = UInt8(ascii: "s")
        buffer[2] = UInt8(ascii: "g")
        buffer[3] = UInt8(ascii: "-")
        var count = 4 + JSONNumberText.write(eventTime.milliseconds, to: buffer + 4)
        buffer[count] = UInt8(ascii: "-")
        count += 1
        var rest = UInt64(bigEndian: digest.0) % Self.modulus
        for index in stride(from: count + 8, through: count, by: -1) {
            let digit = UInt8(truncatingIfNeeded: rest % 36)
            buffer[index] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
            rest /= 36
        }
        return count + 9
    }
}
