/// What a phone gets about an order (document 1, "Base Payload Structure"), on both sides of the wire.
///
/// Required fields that were missing are empty; ``validate()`` names them.
public struct OrderPayload: Hashable, Sendable {
    /// `msg-{milliseconds}-{base 36}`; the same for all devices, so that an app can tell a duplicate.
    public var messageID: String
    public var orderID: String
    public var parentOrderID: String
    /// The number that a person knows the order by. Always sent, never required (docs/rules.md §5.3 row 3).
    public var visibleID: String
    /// As it was sent; see ``EventType`` for those that document 1 lists.
    public var eventType: String
    /// `YYYY-MM-DD`.
    public var deliveryDate: String
    /// `HH:MM`.
    public var startTime: String
    /// `HH:MM`; before ``startTime`` where the slot crosses midnight.
    public var endTime: String
    /// Empty for an order without a place, whose event is for other audiences.
    public var placeID: String
    /// Only `event_order_status_changed` has one.
    public var statusChange: StatusChange?

    public struct StatusChange: Hashable, Sendable {
        public var previous: String
        public var new: String
        public var orderNumber: String

        public init(previous: String, new: String, orderNumber: String) {
            self.previous = previous
            self.new = new
            self.orderNumber = orderNumber
        }
    }

    public init(
        messageID: String, orderID: String, parentOrderID: String, visibleID: String, eventType: String,
        deliveryDate: String, startTime: String, endTime: String, placeID: String, statusChange: StatusChange? = nil
    ) {
        self.messageID = messageID
        self.orderID = orderID
        self.parentOrderID = parentOrderID
        self.visibleID = visibleID
        self.eventType = eventType
        self.deliveryDate = deliveryDate
        self.startTime = startTime
        self.endTime = endTime
        self.placeID = placeID
        self.statusChange = statusChange
    }
}

/// Why a push has no valid order payload.
public enum OrderPayloadError: Error, Equatable, Sendable, CustomStringConvertible {
    /// `default` is not JSON, or has no object `data`.
    case unreadable
    /// Names of the payload's fields, in the document's order.
    case missingFields([String])
    /// Not `YYYY-MM-DD`, or not a day of the calendar.
    case invalidDate(String)
    /// Not `HH:MM`, or outside 00:00–23:59.
    case invalidTime(String)

    public var description: String {
        switch self {
        case .unreadable: "the push has no readable payload in \"default\""
        case .missingFields(let names): "missing required fields: \(names.joined(separator: ", "))"
        case .invalidDate(let date): "invalid delivery_date \"\(date)\", expected YYYY-MM-DD"
        case .invalidTime(let time): "invalid time \"\(time)\", expected HH:MM"
        }
    }
}
