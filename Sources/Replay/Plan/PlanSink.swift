import NotificationPayload

/// Counts what would be written, and writes nothing. Memory grows with the hours of the range, not with its events.
package struct PlanSink: ~Copyable, ReplaySink {
    package private(set) var plan = ReplayPlan()
    /// The records of one notification come together.
    private var lastMessageID: [UInt8] = []

    package init() {}

    package mutating func dispatch(
        _ record: DispatchRecord, for notification: Notification, from event: EventRecord
    ) {
        let type = notification.type
        let messageID = record[.messageID]
        let begins = messageID.map { !$0.elementsEqual(lastMessageID) } ?? false
        if begins, let messageID { lastMessageID = Array(messageID) }
        // A record without a timestamp, such as a bare line of a file.
        let stamp = event.timestamp ?? .epoch
        let time = stamp > .epoch ? stamp : notification.eventTime
        plan.note(
            type: type, time: time, bytes: record.key.count + record.value.count, beginsNotification: begins,
            example: ReplayPlan.Example(time, type, record))
    }

    package mutating func deadLetter(
        _ letter: DeadLetter, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
        headers: UnsafeBufferPointer<EventHeader>, from event: EventRecord
    ) {
        plan.deadLetters[letter.code.label, default: 0] += 1
    }

    package mutating func suppress(_ event: EventRecord, because reason: SuppressionReason) {
        plan.suppressed[reason.label, default: 0] += 1
    }

    package mutating func drop(_ timer: EventRecord, _ type: EventType, because drop: TimerDrop) {
        plan.droppedTimers[drop.label, default: 0] += 1
    }
}

/// What a replay would write.
package struct ReplayPlan: Equatable, Sendable, Encodable {
    package struct Count: Equatable, Sendable, Encodable {
        package var notifications = 0
        package var devices = 0
    }

    /// One record.
    package struct Example: Equatable, Sendable, Encodable {
        /// The time of its event, or the due time of its timer.
        package var time: WallTime
        package var eventType: String
        package var source = ""
        package var messageID = ""
        /// The SHA-256 of the device's token.
        package var device: String

        init(_ time: WallTime, _ type: String, _ record: DispatchRecord) {
            self.time = time
            eventType = type
            device = String(decoding: record.key, as: UTF8.self)
            source = record.text(.source) ?? ""
            messageID = record.text(.messageID) ?? ""
        }
    }

    package var notifications = 0
    package var devices = 0
    /// Size of keys and values.
    package var bytes = 0
    package var byType: [String: Count] = [:]
    /// By the beginning of the hour.
    package var devicesByHour: [WallTime: Int] = [:]
    /// Events that notify nobody, dead letters, and timers that are not sent, by reason.
    package var suppressed: [String: Int] = [:]
    package var deadLetters: [String: Int] = [:]
    package var droppedTimers: [String: Int] = [:]
    package var first: Example?
    package var last: Example?

    /// The hours are written by the report, as texts.
    private enum CodingKeys: CodingKey {
        case notifications, devices, bytes, byType, suppressed, deadLetters, droppedTimers, first, last
    }

    /// Counts a record.
    ///
    /// - Parameters:
    ///   - time: of its event, or the due time of its timer.
    ///   - beginsNotification: whether the previous record belonged to another notification.
    mutating func note(
        type: String, time: WallTime, bytes: Int, beginsNotification: Bool, example: @autoclosure () -> Example
    ) {
        if beginsNotification {
            notifications += 1
            byType[type, default: Count()].notifications += 1
        }
        devices += 1
        byType[type, default: Count()].devices += 1
        self.bytes += bytes
        devicesByHour[time - time.milliseconds % 3_600_000, default: 0] += 1
        if first.map({ time < $0.time }) ?? true { first = example() }
        if last.map({ time >= $0.time }) ?? true { last = example() }
    }
}
