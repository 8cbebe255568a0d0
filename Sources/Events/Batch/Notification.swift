import NotificationPayload

/// One notification before its recipients are known. Its texts are in the batch that holds it.
public struct Notification: Sendable {
    /// The index of its record in the batch.
    public var record: Int
    public var eventType: EventType
    public var eventTime: EventTime
    public var messageID: TextRange
    public var placeID: TextRange
    public var orderID: TextRange
    /// The document's `default` string as the inside of the JSON string that carries it;
    /// ``EventBatch/payload(of:)`` is the string itself.
    @usableFromInline package var payload: TextRange
    /// The size of the `default` string itself, in bytes: what FCM counts (docs/rules.md §1.3).
    @usableFromInline package var payloadSize: Int
    public var sources: FieldSources
    /// `food` or `d2d`, if the order has a type (docs/rules.md §7).
    public var orderType: OrderType?
    /// Whether it is sent although the order id is missing (docs/rules.md §5.3 row 1).
    public var isDegraded: Bool

    package init(
        record: Int, eventType: EventType, eventTime: EventTime, messageID: TextRange, placeID: TextRange,
        orderID: TextRange, payload: TextRange, payloadSize: Int, sources: FieldSources, orderType: OrderType?,
        isDegraded: Bool
    ) {
        self.record = record
        self.eventType = eventType
        self.eventTime = eventTime
        self.messageID = messageID
        self.placeID = placeID
        self.orderID = orderID
        self.payload = payload
        self.payloadSize = payloadSize
        self.sources = sources
        self.orderType = orderType
        self.isDegraded = isDegraded
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

    package init(timeSlot: FieldSource, date: FieldSource, orderID: FieldSource) {
        self.timeSlot = timeSlot
        self.date = date
        self.orderID = orderID
    }
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

/// The outcome of one record.
public enum ExtractionOutcome: Sendable {
    /// This many notifications were appended to the batch; at least one.
    case notifications(Int)
    /// The event notifies nobody, for this reason.
    case suppressed(SuppressionReason)
    case deadLetter(DeadLetter)
}

/// Why nobody was notified of an event.
public enum SuppressionReason: UInt8, CaseIterable, Sendable {
    case notATransition, noSubscriber, staleToken, noOrderIDs, duplicate, scheduledHere, superseded

    /// The label of this reason's counter.
    public var label: String {
        switch self {
        case .notATransition: "not_a_transition"
        case .noSubscriber: "no_subscriber"
        case .staleToken: "stale_token"
        case .noOrderIDs: "no_order_ids"
        case .duplicate: "duplicate"
        case .scheduledHere: "scheduled_here"
        case .superseded: "superseded"
        }
    }
}
