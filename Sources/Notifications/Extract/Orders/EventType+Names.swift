import NotificationPayload

extension EventType {
    /// The raw value, which a payload carries in `event_type`, as bytes that are valid forever.
    package var name: UnsafeRawBufferPointer {
        var index = 0
        while Self.names[index].type != self { index += 1 }
        return Self.names[index].name
    }

    /// The names of every case, made once and never freed, so that nothing is allocated, counted or copied per event.
    /// `nonisolated(unsafe)`: nothing changes once it is made.
    nonisolated(unsafe) private static let names: UnsafeBufferPointer<Names> = {
        let names = UnsafeMutableBufferPointer<Names>.allocate(capacity: allCases.count)
        _ = names.initialize(from: allCases.map(Names.init))
        return UnsafeBufferPointer(names)
    }()

    private struct Names {
        let type: EventType
        let name: UnsafeRawBufferPointer
        /// The part of it after the prefix.
        let ending: UnsafeRawBufferPointer
        /// The document's name: `ORDER_CREATED`.
        let documentName: UnsafeRawBufferPointer

        init(_ type: EventType) {
            self.type = type
            name = LastingText.bytes(of: type.rawValue)
            ending = UnsafeRawBufferPointer(rebasing: name[EventType.prefix.utf8CodeUnitCount...])
            documentName = LastingText.bytes(
                of: type.rawValue.dropFirst(EventType.prefix.utf8CodeUnitCount).uppercased())
        }
    }

    /// The prefix of every raw value before the document's name in lower case.
    private static var prefix: StaticString { "event_" }

    /// The type of an upstream's name: `ORDER_CREATED` or `event_order_created` in any case, or a dotted name such as
    /// `com.example.order.created.v1` (docs/code.md §4: its segments joined by `_`, a final `v<n>` dropped, end in
    /// it).
    init?(upstreamName text: UnsafeRawBufferPointer) {
        // The document's spelling, which most producers use: it takes a tenth of the time of the search by endings.
        for known in Self.names where sameBytes(known.documentName, text) {
            self = known.type
            return
        }
        let name = Self.withoutVersion(text)
        for known in Self.names where Self.isEnd(known.ending, of: name) {
            self = known.type
            return
        }
        return nil
    }

    /// The size of the document's name, in bytes.
    var documentCount: Int { name.count - Self.prefix.utf8CodeUnitCount }

    /// Whether a name is the given one, or ends in it in one of the ways that are allowed.
    ///
    /// - Parameter own: as ``comparable(_:)`` gives it.
    static func isEnd(_ own: UnsafeRawBufferPointer, of text: UnsafeRawBufferPointer) -> Bool {
        let start = text.count - own.count
        guard start >= 0 else { return false }
        for index in 0..<own.count where folded(text[start + index]) != own[index] {
            return false
        }
        if start == 0 { return true }
        let rest = UnsafeRawBufferPointer(rebasing: text[..<start])
        if rest.equalsIgnoringCase(prefix) { return true }
        // A prefix is allowed only in a dotted name, and must end at a segment or a word.
        return folded(text[start - 1]) == UInt8(ascii: "_") && text.contains(UInt8(ascii: "."))
    }

    /// A name as it is compared: in lower case, `.` as `_`, without a version and without `event_`.
    static func comparable(_ text: String) -> String {
        var text = text
        let name = text.withUTF8 {
            String(decoding: withoutVersion(UnsafeRawBufferPointer($0)).map(folded), as: UTF8.self)
        }
        return name.hasPrefix("\(prefix)") ? String(name.dropFirst(prefix.utf8CodeUnitCount)) : name
    }

    /// Whether the name of a type may have it.
    static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"): true
        default: false
        }
    }

    /// Lower case, and `.` as `_`.
    private static func folded(_ byte: UInt8) -> UInt8 {
        if byte == UInt8(ascii: ".") { return UInt8(ascii: "_") }
        return byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte
    }

    /// Drops a last segment of `v` and digits.
    static func withoutVersion(_ text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        guard let dot = text.lastIndex(of: UInt8(ascii: ".")) else { return text }
        var cursor = ASCIICursor(text)
        cursor.index = dot + 1
        guard cursor.skip(letter: UInt8(ascii: "v")), cursor.skipDigits(), cursor.isAtEnd else { return text }
        return UnsafeRawBufferPointer(rebasing: text[..<dot])
    }
}
