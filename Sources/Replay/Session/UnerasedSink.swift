import NotificationPayload
import Registrar

/// Forwards everything but the pushes of people and addresses that were erased after them.
package struct UnerasedSink<Base: ReplaySink & ~Copyable>: ~Copyable, ReplaySink {
    package var base: Base
    private let erased: SuppressionList
    private var step: JournalStep?
    /// How many pushes were left out.
    package private(set) var leftOut = 0

    package init(_ base: consuming Base, _ erased: SuppressionList) {
        self.base = base
        self.erased = erased
    }

    package var seesEvents: Bool { base.seesEvents }

    package mutating func begin(_ step: JournalStep?, of source: SourceKind, areTimers: Bool) {
        self.step = step
        base.begin(step, of: source, areTimers: areTimers)
    }

    package mutating func see(_ event: EventRecord, in batch: borrowing EventBatch) { base.see(event, in: batch) }

    package mutating func dispatch(
        _ record: DispatchRecord, for notification: Notification, from event: EventRecord
    ) throws {
        guard !erased.includes(record, from: event, in: step) else {
            leftOut += 1
            return
        }
        try base.dispatch(record, for: notification, from: event)
    }

    package mutating func deadLetter(
        _ letter: DeadLetter, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
        headers: UnsafeBufferPointer<EventHeader>, from event: EventRecord
    ) throws {
        try base.deadLetter(letter, key: key, value: value, headers: headers, from: event)
    }

    package mutating func suppress(_ event: EventRecord, because reason: SuppressionReason) {
        base.suppress(event, because: reason)
    }

    package mutating func drop(_ timer: EventRecord, _ type: EventType, because drop: TimerDrop) {
        base.drop(timer, type, because: drop)
    }

    package mutating func cancelTimers(_ event: EventRecord, timers: Int, because drop: TimerDrop) {
        base.cancelTimers(event, timers: timers, because: drop)
    }

    package mutating func passOver(_ event: EventRecord) throws { try base.passOver(event) }

    package mutating func passOver(_ record: DispatchRecord, of timer: EventRecord) throws {
        try base.passOver(record, of: timer)
    }
}

extension SuppressionList {
    /// Whether a push is of a person or to an address that was erased after its event, or its timer's time, or after it was
    /// written.
    ///
    /// - Parameter step: in which it was written; nil: that is not known.
    func includes(_ record: DispatchRecord, from event: EventRecord, in step: JournalStep?) -> Bool {
        includes(record, since: min(event.timestamp ?? .epoch, step?.clock ?? .distantFuture))
    }

    func includes(_ record: DispatchRecord, since time: WallTime) -> Bool {
        guard !isEmpty else { return false }
        return includes(
            ByteText(record.text(.audience) ?? ""), AddressHash(hex: String(decoding: record.key, as: UTF8.self)),
            since: time)
    }
}
