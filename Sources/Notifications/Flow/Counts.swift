/// The counters. Those of a transaction are added to the process's once it is committed, and discarded when it is aborted.
/// ``table`` lists each with the name of its metric: a new counter is a property here and a row there.
public struct Counts: Sendable {
    /// Timers that were due, and were not dropped before their recipients were resolved.
    public package(set) var timers = 0
    /// Devices left out because their subscription is older than `subscriptions.max-age`.
    public package(set) var staleDevices = 0
    /// Devices from a host's own resolver that cannot be sent to.
    public package(set) var rejectedDevices = 0
    /// Events and timers with more than half of `fan-out.max-devices`.
    public package(set) var nearDeviceLimit = 0
    /// Events whose key is not their order id.
    public package(set) var keyMismatches = 0
    public package(set) var ambiguousDates = 0
    public package(set) var unknownStatuses = 0
    /// Entries of ORDER_IDS_LISTED that are not ids.
    public package(set) var ignoredOrderIDs = 0
    /// Events and requests whose `traceparent` does not go on (ADR 47).
    public package(set) var ignoredTraceparents = 0
    /// Events older than one of the same order that was applied before them.
    public package(set) var outOfOrder = 0
    /// Events that were folded into the state of their orders again, without output, after a start or a rebalance.
    public package(set) var refolded = 0
    public package(set) var transactions = 0
    public package(set) var aborts = 0
    public package(set) var recreatedClients = 0
    /// Committed offsets whose metadata carried no watermark: an operator's reset.
    public package(set) var missingWatermarks = 0
    public package(set) var malformedSubscriptions = 0
    /// Subscriptions and unsubscriptions in partitions that are not those of their keys.
    public package(set) var misplacedSubscriptions = 0
    /// Audiences that were left out, by the template that gave none (docs/rules.md §5.4).
    package var missingAudiences = MissingAudiences()
    var eventsBySource = LabelledCounts<SourceKind>()
    var notificationsBySource = LabelledCounts<SourceKind>()
    var dispatchesBySource = LabelledCounts<SourceKind>()
    var deadLettersOfOrders = LabelledCounts<DeadLetter.Code>()
    var deadLettersOfRequests = LabelledCounts<DeadLetter.Code>()
    var suppressedOrders = LabelledCounts<SuppressionReason>()
    var suppressedRequests = LabelledCounts<SuppressionReason>()
    var timersByDrop = LabelledCounts<TimerDrop>()
    var timeSlotSources = LabelledCounts<FieldSource>()
    var dateSources = LabelledCounts<FieldSource>()
    var orderIDSources = LabelledCounts<FieldSource>()

    public init() {}

    /// Events and requests, those that became dead letters or notified nobody among them.
    public var events: Int { eventsBySource.total }
    public func events(of source: SourceKind) -> Int { eventsBySource[source] }
    public var notifications: Int { notificationsBySource.total }
    /// Records written to the dispatch topic: one per device.
    public var dispatches: Int { dispatchesBySource.total }
    public func dispatches(of source: SourceKind) -> Int { dispatchesBySource[source] }
    public var deadLetters: Int { deadLettersOfOrders.total + deadLettersOfRequests.total }
    public func deadLetters(_ code: DeadLetter.Code) -> Int { deadLettersOfOrders[code] + deadLettersOfRequests[code] }
    /// Events and requests that notified nobody, for this reason.
    public func suppressed(_ reason: SuppressionReason) -> Int { suppressedOrders[reason] + suppressedRequests[reason] }
    /// Timers that were not sent, for this reason. ``TimerDrop/noSlot`` counts orders.
    public func dropped(_ drop: TimerDrop) -> Int { timersByDrop[drop] }
    public func timeSlots(from source: FieldSource) -> Int { timeSlotSources[source] }
    public func dates(from source: FieldSource) -> Int { dateSources[source] }
    public func orderIDs(from source: FieldSource) -> Int { orderIDSources[source] }

    package mutating func countEvent(of source: SourceKind) { eventsBySource[source] += 1 }

    /// Counts what an event has given: its notifications, and the records for their devices.
    package mutating func count(notifications: Int, dispatches: Int, of source: SourceKind) {
        notificationsBySource[source] += notifications
        dispatchesBySource[source] += dispatches
    }

    package mutating func countDeadLetter(_ code: DeadLetter.Code, of source: SourceKind) {
        switch source {
        case .orders: deadLettersOfOrders[code] += 1
        case .requests: deadLettersOfRequests[code] += 1
        }
    }

    package mutating func countSuppressed(_ reason: SuppressionReason, of source: SourceKind) {
        switch source {
        case .orders: suppressedOrders[reason] += 1
        case .requests: suppressedRequests[reason] += 1
        }
    }

    package mutating func count(_ drop: TimerDrop) { timersByDrop[drop] += 1 }

    mutating func count(_ cancelled: CancelledTimers) {
        timersByDrop[.alreadyStarted] += cancelled.alreadyStarted
        timersByDrop[.ended] += cancelled.ended
        timersByDrop[.noSlot] += cancelled.noSlot
        timersByDrop[.forgotten] += cancelled.forgotten
        forgottenOrders += cancelled.forgottenOrders
    }

    mutating func count(_ notification: Notification) {
        guard let sources = notification.fieldSources else { return }
        timeSlotSources[sources.timeSlot] += 1
        dateSources[sources.date] += 1
        orderIDSources[sources.orderID] += 1
    }

    /// Orders that were forgotten because those of their partition exceeded `state.max-bytes`.
    public package(set) var forgottenOrders = 0
    /// Ids of requests that were forgotten before they were 24 h old, because those of their partition were too many.
    public package(set) var forgottenRequests = 0
    /// Requests with a type of app notification that is not known (docs/rules.md §9.1).
    public package(set) var unknownAppTypes = 0
    /// Keys that a type of app notification should have, and a request has not.
    public package(set) var missingAppKeys = 0
    /// Keys of `app.data` that had quotes around them.
    public package(set) var quotedAppKeys = 0
    /// Requests with `order_type` and `order_id` that are no deep link.
    public package(set) var unlinkedRequests = 0
    /// Requests with a `collapse_key` in their data, which FCM overwrites.
    public package(set) var overwrittenKeys = 0

    package mutating func count(_ notes: RequestNotes) {
        unknownAppTypes += notes.unknownTypes
        missingAppKeys += notes.missingKeys
        quotedAppKeys += notes.quotedKeys
        unlinkedRequests += notes.unlinked
        overwrittenKeys += notes.overwrittenKeys
        forgottenRequests += notes.forgotten
        ignoredTraceparents += notes.ignoredTraceparents
    }

    package mutating func count(_ notes: (orders: ExtractionNotes, requests: RequestNotes)) {
        count(notes.orders)
        count(notes.requests)
    }

    package mutating func count(_ notes: ExtractionNotes) {
        keyMismatches += notes.keyMismatches
        ambiguousDates += notes.ambiguousDates
        unknownStatuses += notes.unknownStatuses
        ignoredOrderIDs += notes.ignoredOrderIDs
        ignoredTraceparents += notes.ignoredTraceparents
        outOfOrder += notes.outOfOrder
        missingAudiences.add(notes.missingAudiences)
    }

    /// Adds another transaction's counts.
    public mutating func add(_ other: Counts) {
        for row in Self.table { self[keyPath: row.value] += other[keyPath: row.value] }
        missingAudiences.add(other.missingAudiences)
    }
}

/// One count per label, for at most 24 labels. Stored inline, since every event updates it.
struct LabelledCounts<Label: CaseIterable & RawRepresentable<UInt8>>: Sendable {
    private var counts = InlineArray<24, Int>(repeating: 0)
    private(set) var total = 0

    subscript(label: Label) -> Int {
        get { counts[Int(label.rawValue)] }
        set {
            total += newValue - counts[Int(label.rawValue)]
            counts[Int(label.rawValue)] = newValue
        }
    }
}
