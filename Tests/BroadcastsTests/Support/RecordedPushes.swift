import Notifications

@testable import Broadcasts

/// What the core writes, with bytes of its own.
struct RecordedPushes: BroadcastSink {
    struct Push: Hashable {
        /// The key: the hash of the device's token.
        var device: String
        /// The offset in the header `source`.
        var broadcast: Int64
    }

    struct Failure: Error {}

    private(set) var pushes: [Push] = []
    private(set) var values: [String] = []
    private(set) var messageIDs: [String] = []
    private(set) var letters: [[String: String]] = []
    /// Fails once it has taken so many more pushes.
    var failsAfter: Int?

    mutating func dispatch(_ record: DispatchRecord) throws {
        if let left = failsAfter {
            guard left > 0 else { throw Failure() }
            failsAfter = left - 1
        }
        pushes.append(Push(device: Self.text(record.key), broadcast: try record.source.offset))
        values.append(Self.text(record.value))
        messageIDs.append(Self.text(try record.messageID))
    }

    mutating func deadLetter(
        key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?, headers: UnsafeBufferPointer<EventHeader>,
        own: Int
    ) throws {
        var letter = ["key": key.map(Self.text) ?? "", "value": value.map(Self.text) ?? ""]
        for header in headers { letter[Self.text(header.name)] = header.value.map(Self.text) }
        letters.append(letter)
    }

    private static func text(_ bytes: UnsafeRawBufferPointer) -> String { String(decoding: bytes, as: UTF8.self) }
}
