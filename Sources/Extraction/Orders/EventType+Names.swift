import Events
import JSONReader
import NotificationPayload

extension EventType {
    /// What a payload carries in `event_type`, as bytes that live for ever.
    package var name: UnsafeRawBufferPointer {
        let name: StaticString =
            switch self {
            case .orderCreated: "event_order_created"
            case .orderStatusChanged: "event_order_status_changed"
            case .timeslotStarted: "event_timeslot_started"
            case .unpickedOrdersReminder: "event_unpicked_orders_reminder"
            case .orderIDsListed: "event_order_ids_listed"
            }
        return UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
    }

    /// The type of an upstream's name: `ORDER_CREATED` or `event_order_created` in any case, or a dotted name such as
    /// `com.example.order.created.v1` (design §4: its segments joined by `_`, a final `v<n>` dropped, end in it).
    init?(upstreamName text: UnsafeRawBufferPointer) {
        if let type = Self(documentName: JSONText(text)) {
            self = type
            return
        }
        let name = Self.withoutVersion(text)
        for type in Self.allCases where type.isEnd(of: name) {
            self = type
            return
        }
        return nil
    }

    /// As a producer that follows the document writes them: most do, and it takes a tenth of the search by endings.
    private init?(documentName name: JSONText) {
        switch name.count {
        case 13 where name == "ORDER_CREATED": self = .orderCreated
        case 16 where name == "TIMESLOT_STARTED": self = .timeslotStarted
        case 16 where name == "ORDER_IDS_LISTED": self = .orderIDsListed
        case 20 where name == "ORDER_STATUS_CHANGED": self = .orderStatusChanged
        case 24 where name == "UNPICKED_ORDERS_REMINDER": self = .unpickedOrdersReminder
        default: return nil
        }
    }

    private func isEnd(of text: UnsafeRawBufferPointer) -> Bool {
        // The document's name in lower case, behind `event_`.
        let own = UnsafeRawBufferPointer(rebasing: name[6...])
        let start = text.count - own.count
        guard start >= 0 else { return false }
        for index in 0..<own.count where Self.folded(text[start + index]) != own[index] {
            return false
        }
        if start == 0 { return true }
        let rest = UnsafeRawBufferPointer(rebasing: text[..<start])
        if rest.equalsIgnoringCase("event_") { return true }
        // Something else before it makes a name only where it is dotted, and ends at a segment or a word.
        return Self.folded(text[start - 1]) == UInt8(ascii: "_") && text.contains(UInt8(ascii: "."))
    }

    /// Lower case, and `.` as `_`.
    private static func folded(_ byte: UInt8) -> UInt8 {
        if byte == UInt8(ascii: ".") { return UInt8(ascii: "_") }
        return byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte
    }

    /// Drops a last segment of `v` and digits.
    private static func withoutVersion(_ text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        guard let dot = text.lastIndex(of: UInt8(ascii: ".")) else { return text }
        var cursor = ASCIICursor(text)
        cursor.index = dot + 1
        guard cursor.skip(letter: UInt8(ascii: "v")), cursor.skipDigits(), cursor.isAtEnd else { return text }
        return UnsafeRawBufferPointer(rebasing: text[..<dot])
    }
}
