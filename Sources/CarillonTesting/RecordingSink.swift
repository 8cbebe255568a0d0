import KafkaClient
import NotificationPayload
import Pipeline

/// Records what the pipeline writes, suppresses and drops, in order.
public struct RecordingSink: Sendable {
    /// An event that notified nobody.
    public struct SuppressedEvent: Equatable, Sendable {
        public var partition: Int32
        public var offset: Int64
        public var reason: SuppressionReason
    }

    /// A timer that was due and was not sent.
    public struct DroppedTimer: Equatable, Sendable, CustomStringConvertible {
        public var partition: Int32
        /// Of the next event when it was due.
        public var offset: Int64
        public var orderID: String
        public var type: EventType
        public var due: WallTime
        public var reason: TimerDrop

        /// `4711 1751896800000 too_late`: order, when it was due in milliseconds, and the reason's label.
        public var description: String { "\(orderID) \(due.milliseconds) \(reason.label)" }
    }

    /// Pushes and dead letters.
    public private(set) var records: [RecordedRecord] = []
    public private(set) var suppressed: [SuppressedEvent] = []
    public private(set) var dropped: [DroppedTimer] = []

    public init() {}

    /// One record for each device, as notifications.dispatch gets them.
    public var dispatches: [RecordedRecord] { records.filter { $0.destination == .dispatch } }
    /// As notifications.dead-letters gets them.
    public var deadLetters: [RecordedRecord] { records.filter { $0.destination == .deadLetters } }

    package mutating func append(_ other: RecordingSink) {
        records += other.records
        suppressed += other.suppressed
        dropped += other.dropped
    }
}

extension RecordingSink: RecordSink {
    package mutating func dispatch(
        _ record: DispatchRecord, for notification: Notification, from event: EventRecord
    ) {
        add(.dispatch, record.key, record.value, record.headers)
    }

    package mutating func deadLetter(
        _ letter: DeadLetter, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
        headers: UnsafeBufferPointer<EventHeader>, from event: EventRecord
    ) {
        add(.deadLetters, key, value, headers)
    }

    package mutating func suppress(_ event: EventRecord, because reason: SuppressionReason) {
        suppressed.append(SuppressedEvent(partition: event.partition, offset: event.offset, reason: reason))
    }

    package mutating func drop(_ timer: EventRecord, _ type: EventType, because drop: TimerDrop) {
        dropped.append(
            DroppedTimer(
                partition: timer.partition, offset: timer.offset,
                orderID: timer.key.map { String(decoding: $0, as: UTF8.self) } ?? "", type: type,
                due: timer.timestamp ?? .epoch, reason: drop))
    }

    private mutating func add(
        _ destination: RecordedRecord.Destination, _ key: UnsafeRawBufferPointer?, _ value: UnsafeRawBufferPointer?,
        _ headers: UnsafeBufferPointer<EventHeader>
    ) {
        records.append(
            RecordedRecord(
                destination: destination, key: key.map { Array($0) }, value: value.map { Array($0) },
                headers: headers.map { header in
                    RecordHeader(
                        String(decoding: header.name, as: UTF8.self), header.value.map { Array($0) })
                }))
    }
}
