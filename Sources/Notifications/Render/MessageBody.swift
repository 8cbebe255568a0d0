import NotificationPayload

/// A message whose end is the same for every device of a notification.
///
/// The end is written once. A device's own part is written before it, from its last piece to its first: this saves
/// copying the end, nearly all of the message, for every device (50 ns). The memory is reused.
struct MessageBody: ~Copyable {
    /// The room for a device's own part, followed by the end.
    private var text = ByteWriter(capacity: 8_192)
    /// The size of this room, in bytes.
    private var room = 0
    /// Where the message starts.
    private var start = 0
    /// For a text that must be escaped.
    private var escaped = ByteWriter(capacity: 256)

    init() {
        makeRoom(1_024)
    }

    /// The message; valid until the next change.
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: text.bytes[start...]) }

    /// The size of the end, in bytes.
    var endCount: Int { text.count - room }

    /// The last byte of the end.
    var last: UInt8? { text.bytes.last }

    /// Empties it for the next notification.
    mutating func removeAll() {
        text.truncate(to: room)
        start = room
    }

    /// Empties the device's own part for the next device.
    mutating func removeFront() {
        start = room
    }

    /// Appends to the end; only before the first ``prepend(_:)``.
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        text.append(bytes)
    }

    mutating func append(_ string: StaticString) {
        text.append(string)
    }

    mutating func append(decimal number: Int64) {
        text.append(decimal: number)
    }

    /// Appends a text as the inside of a JSON string.
    mutating func append(escaping string: String) {
        text.appendEscaped(string)
    }

    mutating func prepend(_ bytes: UnsafeRawBufferPointer) {
        if bytes.count > start { makeRoom(bytes.count) }
        guard let source = bytes.baseAddress, let base = text.bytes.baseAddress else { return }
        start -= bytes.count
        UnsafeMutableRawPointer(mutating: base + start).copyMemory(from: source, byteCount: bytes.count)
    }

    mutating func prepend(_ string: StaticString) {
        prepend(UnsafeRawBufferPointer(string))
    }

    /// Prepends a text as the inside of a JSON string.
    mutating func prepend(_ text: UnsafeRawBufferPointer, needsEscaping: Bool) {
        guard needsEscaping else { return prepend(text) }
        escaped.removeAll()
        escaped.appendEscaped(text)
        prepend(escaped.bytes)
    }

    /// Moves the contents to make room for a device's own part that is larger than every earlier one.
    private mutating func makeRoom(_ count: Int) {
        var moved = ByteWriter(capacity: (count + text.count) * 2)
        for _ in 0..<count { moved.append(UInt8(0)) }
        moved.append(text.bytes)
        text = moved
        room += count
        start += count
    }
}
