import Extraction

/// What a transaction did, in numbers: added to the metrics after it has been committed, thrown away when it is aborted.
public struct Counts: Sendable {
    public package(set) var events = 0
    public package(set) var notifications = 0
    /// Timers that were due, and not dropped before it was known who gets them.
    public package(set) var timers = 0
    /// Records written to the dispatch topic: one a device.
    public package(set) var dispatches = 0
    /// Devices left out because their subscription is older than `subscriptions.max-age`.
    public package(set) var staleDevices = 0
    /// Devices that a resolver of the host's own gave and that cannot be sent to.
    public package(set) var rejectedDevices = 0
    private var deadLettersByCode = [Int](repeating: 0, count: DeadLetter.Code.allCases.count)
    private var eventsByReason = [Int](repeating: 0, count: SuppressionReason.allCases.count)
    private var timersByDrop = [Int](repeating: 0, count: TimerDrop.allCases.count)
    private var timeSlotSources = [Int](repeating: 0, count: FieldSource.allCases.count)
    private var dateSources = [Int](repeating: 0, count: FieldSource.allCases.count)
    private var orderIDSources = [Int](repeating: 0, count: FieldSource.allCases.count)

    public init() {}

    public var deadLetters: Int { deadLettersByCode.reduce(0, +) }
    public func deadLetters(_ code: DeadLetter.Code) -> Int { deadLettersByCode[Int(code.rawValue)] }
    /// Events that notified nobody, for this reason.
    public func suppressed(_ reason: SuppressionReason) -> Int { eventsByReason[Int(reason.rawValue)] }
    /// Timers that were not sent, for this reason; of ``TimerDrop/noSlot`` the orders.
    public func dropped(_ drop: TimerDrop) -> Int { timersByDrop[Int(drop.rawValue)] }
    public func timeSlots(from source: FieldSource) -> Int { timeSlotSources[Int(source.rawValue)] }
    public func dates(from source: FieldSource) -> Int { dateSources[Int(source.rawValue)] }
    public func orderIDs(from source: FieldSource) -> Int { orderIDSources[Int(source.rawValue)] }

    package mutating func countDeadLetter(_ code: DeadLetter.Code) { deadLettersByCode[Int(code.rawValue)] += 1 }
    package mutating func countSuppressed(_ reason: SuppressionReason) { eventsByReason[Int(reason.rawValue)] += 1 }

    package mutating func count(_ drop: TimerDrop) { timersByDrop[Int(drop.rawValue)] += 1 }

    mutating func count(_ settled: SettledTimers) {
        timersByDrop[Int(TimerDrop.alreadyStarted.rawValue)] += settled.alreadyStarted
        timersByDrop[Int(TimerDrop.ended.rawValue)] += settled.ended
        timersByDrop[Int(TimerDrop.noSlot.rawValue)] += settled.noSlot
    }

    package mutating func count(_ sources: FieldSources) {
        timeSlotSources[Int(sources.timeSlot.rawValue)] += 1
        dateSources[Int(sources.date.rawValue)] += 1
        orderIDSources[Int(sources.orderID.rawValue)] += 1
    }

    /// Adds another transaction's numbers.
    public mutating func add(_ other: Counts) {
        events += other.events
        notifications += other.notifications
        timers += other.timers
        dispatches += other.dispatches
        staleDevices += other.staleDevices
        rejectedDevices += other.rejectedDevices
        for index in deadLettersByCode.indices { deadLettersByCode[index] += other.deadLettersByCode[index] }
        for index in eventsByReason.indices { eventsByReason[index] += other.eventsByReason[index] }
        for index in timersByDrop.indices { timersByDrop[index] += other.timersByDrop[index] }
        for index in timeSlotSources.indices {
            timeSlotSources[index] += other.timeSlotSources[index]
            dateSources[index] += other.dateSources[index]
            orderIDSources[index] += other.orderIDSources[index]
        }
    }

    /// Back to zero, keeping the memory.
    package mutating func reset() {
        events = 0
        notifications = 0
        timers = 0
        dispatches = 0
        staleDevices = 0
        rejectedDevices = 0
        for index in deadLettersByCode.indices { deadLettersByCode[index] = 0 }
        for index in eventsByReason.indices { eventsByReason[index] = 0 }
        for index in timersByDrop.indices { timersByDrop[index] = 0 }
        for index in timeSlotSources.indices {
            timeSlotSources[index] = 0
            dateSources[index] = 0
            orderIDSources[index] = 0
        }
    }
}
