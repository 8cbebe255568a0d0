import NotificationPayload

extension Notification {
    /// What a notification says of an order.
    public struct Order: Sendable {
        public var eventType: OrderEventType
        /// Empty where it has none, and the settings name audiences that need none.
        public var placeID: TextRange
        /// Empty if ``isDegraded``, or if the type needs none.
        public var orderID: TextRange
        public var sources: FieldSources
        /// `food` or `d2d`, if the order has a type (docs/rules.md §7).
        public var orderType: OrderType?
        /// Whether it is sent although the order id is missing (docs/rules.md §5.3 row 1).
        public var isDegraded: Bool
        /// The audiences that the settings name: positions in ``EventBatch/audiences``; empty: `place/` and ``placeID``.
        package var audiences: Range<Int32> = 0..<0
        package var mappedNames = MappedNamesFound()
    }
}

/// Which source supplied a field (document 1, "Data Extraction Rules").
public enum FieldSource: UInt8, CaseIterable, Sendable {
    case slot, salesforce, drone, order, event, fallback
    /// Earlier events: the fields of a timer's notification.
    case state
}

/// The source of each field that has a choice of sources.
public struct FieldSources: Equatable, Sendable {
    public var timeSlot: FieldSource
    public var date: FieldSource
    public var orderID: FieldSource
}

/// Which of the names of `events.members` had a value that was taken, a bit for each path in the event's body and in the
/// order's object (docs/rules.md §5.6).
package struct MappedNamesFound: Equatable, Sendable {
    package var body: UInt64 = 0
    package var order: UInt64 = 0
}

/// The kinds of order that a phone can open by a deep link (document 3).
public enum OrderType: UInt8, CaseIterable, Sendable {
    case food, d2d

    /// In an event, ignoring case; in a message, exactly.
    package var text: StaticString {
        switch self {
        case .food: "food"
        case .d2d: "d2d"
        }
    }
}
