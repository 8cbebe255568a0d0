import Extraction
import JSONReader
import NotificationPayload
import Pipeline

/// Which events a replay is about, beside the range of offsets. Empty: all.
package struct FilterRules: Equatable, Sendable {
    /// Order ids, as the event or its push has them.
    package var orders: Set<String> = []
    package var places: Set<String> = []
    /// `event_order_created` and the like.
    package var types: Set<String> = []
    package var statuses: Set<String> = []

    package init() {}

    package var isEmpty: Bool { orders.isEmpty && places.isEmpty && types.isEmpty && statuses.isEmpty }

    /// The pushes' name of a type in any of the spellings that events have; nil where there is none such.
    package static func typeName(_ text: String) -> String? {
        let name = String(text.lowercased().map { $0 == "." ? "_" : $0 })
        let wanted = name.hasPrefix("event_") ? name : "event_" + name
        return EventType.allCases.map(\.rawValue).first { $0 == wanted }
    }
}

/// Judges events by what the extraction reads in them, whether they are sent or not. One owner.
struct EventFilter: ~Copyable {
    private let rules: FilterRules
    private var extractor: Extractor
    private var batch: EventBatch
    private var facts = FactsRecorder()

    init(_ rules: FilterRules, extraction: ExtractionRules, topic: String) {
        self.rules = rules
        extractor = Extractor(rules: extraction)
        batch = EventBatch(topic: topic)
    }

    /// Whether a record of `events` is selected.
    mutating func selects(_ record: EventRecord, of events: borrowing EventBatch) -> Bool {
        batch.removeAll()
        batch.headers.append(contentsOf: events.headers[record.headers])
        var record = record
        record.headers = batch.headers.indices
        batch.records.append(record)
        facts.forget()
        _ = extractor.extract(0, in: &batch, history: &facts)
        if !rules.statuses.isEmpty, !rules.statuses.contains(facts.status ?? "") { return false }
        let pushes = batch.notifications
        if !rules.types.isEmpty, facts.type.map({ rules.types.contains($0.rawValue) }) != true,
            !pushes.contains(where: { rules.types.contains($0.eventType.rawValue) })
        {
            return false
        }
        if !rules.places.isEmpty, facts.place.map(rules.places.contains) != true,
            !pushes.contains(where: { rules.places.contains(batch.string($0.placeID)) })
        {
            return false
        }
        if !rules.orders.isEmpty, rules.orders.isDisjoint(with: facts.orders),
            !pushes.contains(where: { rules.orders.contains(batch.string($0.orderID)) })
        {
            return false
        }
        return true
    }
}

/// Notes what an event says of its order; to it, every event stands for itself.
private struct FactsRecorder: OrderHistory {
    private(set) var orders: [String] = []
    private(set) var place: String?
    private(set) var status: String?
    private(set) var type: EventType?

    mutating func forget() { self = FactsRecorder() }

    mutating func consider(_ event: OrderFacts) -> OrderVerdict {
        func text(_ bytes: UnsafeRawBufferPointer) -> String { String(decoding: bytes, as: UTF8.self) }
        orders = [event.orderID, event.visibleID].compactMap { $0.map(text) }
        place = text(event.place)
        status = event.status.map(text)
        type = event.type
        return OrderVerdict()
    }

    mutating func apply(_ event: OrderFacts) {}
}

/// Judges timers: by their type, the key of their record, which is the order id, and what their push says.
struct TimerFilter {
    let rules: FilterRules

    /// - Parameter value: of the push; nil for a timer that is not sent, which has no place that could be asked for.
    func selects(_ timer: EventRecord, _ type: EventType, _ value: UnsafeRawBufferPointer?) -> Bool {
        // A timer is no change of status.
        guard rules.statuses.isEmpty, rules.types.isEmpty || rules.types.contains(type.rawValue) else { return false }
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
