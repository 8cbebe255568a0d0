import NotificationPayload

/// The output of a replay: receives what the pipeline would write, and the transaction that it belongs to.
package protocol ReplaySink: RecordSink, ~Copyable {
    /// What follows belongs to this step of the journal; nil: there is none, each record stands alone.
    ///
    /// - Parameters:
    ///   - source: of its records.
    ///   - areTimers: what follows are timers, not events.
    mutating func begin(_ step: JournalStep?, of source: SourceKind, areTimers: Bool)

    /// Whether ``see(_:in:)`` is to be called.
    var seesEvents: Bool { get }

    /// A selected record of the range, before its output.
    mutating func see(_ event: EventRecord, in batch: borrowing EventBatch)

    /// A record of the range that the filter rejects; its output is dropped.
    mutating func passOver(_ event: EventRecord) throws

    /// A timer's push that the filter rejects.
    mutating func passOver(_ record: DispatchRecord, of timer: EventRecord) throws
}

extension ReplaySink where Self: ~Copyable {
    package mutating func deadLetter(
        _ letter: DeadLetter, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
        headers: UnsafeBufferPointer<EventHeader>, from event: EventRecord
    ) {}
    package mutating func begin(_ step: JournalStep?, of source: SourceKind, areTimers: Bool) {}
    package var seesEvents: Bool { false }
    package mutating func see(_ event: EventRecord, in batch: borrowing EventBatch) {}
    package mutating func passOver(_ event: EventRecord) throws {}
    package mutating func passOver(_ record: DispatchRecord, of timer: EventRecord) throws {}
}

/// Forwards what is selected. The engine reports for each event whether it is; a timer is judged by its push.
struct SelectedSink<Base: ReplaySink & ~Copyable>: ~Copyable, RecordSink {
    var base: Base
    /// Nothing is forwarded.
    var isMuted = false
    /// What follows are timers, judged by this; nil: all are selected.
    var timers: TimerFilter?
    var hasTimers = false

    mutating func dispatch(
        _ record: DispatchRecord, for notification: Notification, from event: EventRecord
    ) throws {
        if isMuted { return }
        if hasTimers, let isSelected = timers?.selects(event, notification.type, record.value), !isSelected {
            return try base.passOver(record, of: event)
        }
        try base.dispatch(record, for: notification, from: event)
    }

    mutating func deadLetter(
        _ letter: DeadLetter, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
        headers: UnsafeBufferPointer<EventHeader>, from event: EventRecord
    ) throws {
        if isMuted { return }
        if hasTimers, timers?.selects(event, nil, nil) == false { return }
        try base.deadLetter(letter, key: key, value: value, headers: headers, from: event)
    }

    mutating func suppress(_ event: EventRecord, because reason: SuppressionReason) {
        if !isMuted { base.suppress(event, because: reason) }
    }

    mutating func drop(_ timer: EventRecord, _ type: EventType, because drop: TimerDrop) {
        if isMuted { return }
        if hasTimers, timers?.selects(timer, type.rawValue, nil) == false { return }
        base.drop(timer, type, because: drop)
    }

    mutating func cancelTimers(_ event: EventRecord, timers: Int, because drop: TimerDrop) {
        if !isMuted { base.cancelTimers(event, timers: timers, because: drop) }
    }
}

/// Renders everything and keeps nothing.
package struct NothingSink: ~Copyable, ReplaySink {
    package private(set) var records = 0
    package private(set) var bytes = 0

    package init() {}

    package mutating func dispatch(
        _ record: DispatchRecord, for notification: Notification, from event: EventRecord
    ) {
        records += 1
        bytes += record.value.count
    }
}
