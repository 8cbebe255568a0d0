import Events
import Extraction
import JSONReader
import NotificationPayload
import Pipeline

/// Which events a replay selects, in addition to the range of offsets. Empty: all.
package struct FilterRules: Equatable, Sendable {
    /// Order ids, as the event or its push has them.
    package var orders: Set<String> = []
    package var places: Set<String> = []
    /// `event_order_created` and the like.
    package var types: Set<String> = []
    package var statuses: Set<String> = []

    package init() {}

    package var isEmpty: Bool { orders.isEmpty && places.isEmpty && types.isEmpty && statuses.isEmpty }

    /// The type's name in pushes, from any of the spellings that events use; nil for an unknown type.
    package static func typeName(_ text: String) -> String? {
        let name = String(text.lowercased().map { $0 == "." ? "_" : $0 })
        let wanted = name.hasPrefix("event_") ? name : "event_" + name
        return EventType.allCases.map(\.rawValue).first { $0 == wanted }
    }
}

/// The members of an event that filters and explanations use, whether it is sent or not.
package struct EventReading: Equatable, Sendable {
    /// The order's id and its visible id; for a list, the ids in it.
    package var orders: [String] = []
    package var places: [String] = []
    package var types: [String] = []
    package var status: String?
    /// Time of the event; nil if it is missing or invalid.
    package var time: EventTime?
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
        batch.removeAll()
        batch.headers.append(contentsOf: events.headers[record.headers])
        var record = record
        record.headers = batch.headers.indices
        batch.records.append(record)
        facts.reading = EventReading()
        let outcome = extractor.extract(0, in: &batch, history: &facts)
        var reading = facts.reading
        if case .deadLetter(let letter) = outcome { reading.deadLetter = letter }
        for push in batch.notifications {
            switch push.kind {
            case .request: break
            case .order(let order):
                reading.orders.append(batch.string(order.orderID))
                reading.places.append(batch.string(order.placeID))
            }
            reading.types.append(push.type)
            reading.time = push.eventTime
        }
        return reading
    }
}

/// Selects events by what the extraction reads in them. One owner.
struct EventFilter: ~Copyable {
    private let rules: FilterRules
    private var reader: EventReader

    init(_ rules: FilterRules, extraction: ExtractionRules, topic: String) {
        self.rules = rules
        reader = EventReader(extraction, topic: topic)
    }

    /// Whether a record of `events` is selected.
    mutating func selects(_ record: EventRecord, of events: borrowing EventBatch) -> Bool {
        let reading = reader.read(record, of: events)
        return (rules.statuses.isEmpty || rules.statuses.contains(reading.status ?? ""))
            && (rules.types.isEmpty || !rules.types.isDisjoint(with: reading.types))
            && (rules.places.isEmpty || !rules.places.isDisjoint(with: reading.places))
            && (rules.orders.isEmpty || !rules.orders.isDisjoint(with: reading.orders))
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
        // A timer is not a change of status.
        guard rules.statuses.isEmpty, rules.types.isEmpty || type.map({ rules.types.contains($0) }) ?? true
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
