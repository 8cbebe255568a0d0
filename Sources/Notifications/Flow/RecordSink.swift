import NotificationPayload

/// Where the core writes to: a transaction of Kafka, the lines of `carillon render`, or a test's array.
///
/// Keys, values and headers are valid during the call only.
package protocol RecordSink: ~Copyable {
    /// A record for the dispatch topic: one device's push.
    mutating func dispatch(
        _ record: DispatchRecord, for notification: Notification, from event: EventRecord
    ) throws

    /// An event that notifies nobody.
    mutating func suppress(_ event: EventRecord, because reason: SuppressionReason)

    /// A timer that is not sent; its record's key is the order id, its timestamp the time at which it was due.
    mutating func drop(_ timer: EventRecord, _ type: EventType, because drop: TimerDrop)

    /// Timers cancelled by this event. For ``TimerDrop/noSlot``, `timers` counts orders.
    mutating func cancelTimers(_ event: EventRecord, timers: Int, because drop: TimerDrop)

    /// A record for the dead-letter topic: the original key, value and headers, and the reason's headers after them.
    mutating func deadLetter(
        _ letter: DeadLetter, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
        headers: UnsafeBufferPointer<EventHeader>, from event: EventRecord
    ) throws
}

extension RecordSink where Self: ~Copyable {
    package mutating func suppress(_ event: EventRecord, because reason: SuppressionReason) {}
    package mutating func drop(_ timer: EventRecord, _ type: EventType, because drop: TimerDrop) {}
    package mutating func cancelTimers(_ event: EventRecord, timers: Int, because drop: TimerDrop) {}
}
