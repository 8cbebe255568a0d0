import NotificationPayload

/// Which events and requests a replay selects, in addition to the range of offsets. Empty: all. A rule never selects what
/// does not have its member.
package struct FilterRules: Equatable, Sendable {
    /// Order ids, as the event, the request or its push has them. Of a dead letter also the record's key, and what looks
    /// like an order's id in its value.
    package var orders: Set<String> = []
    package var places: Set<String> = []
    /// `event_order_created` and the like; of a request, `app` or `message`.
    package var types: Set<String> = []
    package var statuses: Set<String> = []
    /// Ids of requests, their own or those of their pushes.
    package var requests: Set<String> = []

    package var isEmpty: Bool {
        orders.isEmpty && places.isEmpty && types.isEmpty && statuses.isEmpty && requests.isEmpty
    }

    /// The type's name in pushes, from any of the spellings that events use; nil for an unknown type.
    ///
    /// - Parameter types: those that the settings declare.
    package static func typeName(_ text: String, _ types: EventTypes) -> String? {
        let name = String(text.lowercased().map { $0 == "." ? "_" : $0 })
        if let content = RequestNotification.Content(rawValue: name) { return content.rawValue }
        let wanted = name.hasPrefix("event_") ? name : "event_" + name
        return types.type(rawValue: wanted)?.rawValue
    }
}

/// The members of an event or a request that filters and explanations use, whether it is sent or not.
package struct EventReading: Equatable, Sendable {
    /// The order's id and its visible id; for a list, the ids in it.
    package var orders: [String] = []
    package var places: [String] = []
    /// A request's own id; nil if it has none.
    package var requestID: String?
    /// A request's.
    package var messageID: String?
    /// Those that a request names, or that the settings name for an event.
    package var audiences: [String] = []
    package var types: [String] = []
    package var status: String?
    /// Time of the event; nil if it is missing or invalid.
    package var time: WallTime?
    /// When a request expires.
    package var expiresAt: WallTime?
    /// The record's key, which may be the order; only of an event that is a dead letter.
    package var key: String?
    /// Its dead letter by the rules alone, regardless of the order's state and the subscriptions.
    package var deadLetter: DeadLetter?
}

/// Reads events as the extraction does, each by itself. One owner.
struct EventReader: ~Copyable {
    private var extractor: Extractor
    private var batch: EventBatch
    private var facts = FactsRecorder()

    init(_ rules: ExtractionRules, topic: String) {
        extractor = Extractor(rules: rules)
        batch = EventBatch(.orders, topic: topic)
    }

    mutating func read(_ record: EventRecord, of events: borrowing EventBatch) -> EventReading {
        batch.hold(record, of: events)
        facts.reading = EventReading()
        let outcome = extractor.extract(0, in: &batch, history: &facts)
        var reading = facts.reading
        if case .deadLetter(let letter) = outcome {
            reading.deadLetter = letter
            if reading.orders.isEmpty { reading.orders = ReadableOrders.ids(in: record.value) }
            reading.key = record.key.map { String(decoding: $0, as: UTF8.self) }
        }
        for push in batch.notifications {
            switch push.kind {
            case .request: break
            case .order(let order):
                reading.orders.append(batch.string(order.orderID))
                reading.places.append(batch.string(order.placeID))
                reading.audiences += batch.audienceTexts(of: order)
            }
            reading.types.append(push.type)
            reading.time = push.eventTime
        }
        return reading
    }
}

/// Selects events and requests by what the extraction reads in them. One owner.
struct EventFilter: ~Copyable {
    private let rules: FilterRules
    private var reader: RecordReader

    init(_ rules: FilterRules, _ configuration: PipelineConfiguration) {
        self.rules = rules
        reader = RecordReader(configuration)
    }

    /// Whether a record of `events` is selected.
    mutating func selects(_ record: EventRecord, of events: borrowing EventBatch) -> Bool {
        let reading = reader.read(record, of: events)
        return (rules.statuses.isEmpty || rules.statuses.contains(reading.status ?? ""))
            && (rules.types.isEmpty || !rules.types.isDisjoint(with: reading.types))
            && (rules.places.isEmpty || !rules.places.isDisjoint(with: reading.places))
            && (rules.orders.isEmpty || !rules.orders.isDisjoint(with: reading.orders)
                || reading.key.map(rules.orders.contains) ?? false)
            && (rules.requests.isEmpty
                || [reading.requestID, reading.messageID].contains { $0.map(rules.requests.contains) ?? false })
    }
}

/// Records the facts of an event; its order history is always empty.
private struct FactsRecorder: OrderHistory {
    var reading = EventReading()

    mutating func consider(_ event: OrderFacts) -> OrderVerdict {
        func text(_ bytes: UnsafeRawBufferPointer) -> String { String(decoding: bytes, as: UTF8.self) }
        reading.orders = [event.orderID, event.visibleID].compactMap { $0.map(text) }
        reading.places = [text(event.place)]
        reading.types = [event.type.rawValue]
        reading.status = event.status.map(text)
        reading.time = event.time
        return OrderVerdict()
    }

    mutating func apply(_ event: OrderFacts) {}
}

/// Selects timers by their type, the key of their record, which is the order id, and the payload of their push.
struct TimerFilter {
    let rules: FilterRules

    /// - Parameters:
    ///   - type: nil for a dead letter, which does not name it.
    ///   - value: of the push; nil for a timer that is not sent, whose place is therefore unknown.
    func selects(_ timer: EventRecord, _ type: String?, _ value: UnsafeRawBufferPointer?) -> Bool {
        // A timer is neither a change of status nor a request.
        guard rules.statuses.isEmpty, rules.requests.isEmpty,
            rules.types.isEmpty || type.map({ rules.types.contains($0) }) ?? true
        else { return false }
        let order = timer.key.map { String(decoding: $0, as: UTF8.self) } ?? ""
        let payload = value.flatMap { PushPayload(value: Array($0)) }
        if !rules.orders.isEmpty, !rules.orders.contains(order),
            payload.map({ rules.orders.contains($0["order_id"] ?? "") }) != true
        {
            return false
        }
        return rules.places.isEmpty || payload.map { rules.places.contains($0["place_id"] ?? "") } == true
    }
}

extension EventBatch {
    /// The audiences that the settings name for a notification; none where that is its place alone.
    func audienceTexts(of order: Notification.Order) -> [String] {
        order.audiences.map { string(audiences[Int($0)]) }
    }

    /// Holds this record of another batch, and nothing else.
    mutating func hold(_ record: EventRecord, of other: borrowing EventBatch) {
        removeAll()
        headers.append(contentsOf: other.headers[record.headers])
        var record = record
        record.headers = headers.indices
        records.append(record)
    }
}
