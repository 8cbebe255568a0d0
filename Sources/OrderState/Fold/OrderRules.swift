import Events
import NotificationPayload

/// What a user can decide about the state of orders and their schedule.
public struct OrderRules: Sendable {
    /// What an order remembers goes so long after the record that said it.
    public var horizon: Duration = .seconds(14 * 86_400)
    /// What is left of an order that has ended is kept so long; at most ``horizon``.
    public var terminalRetention: Duration = .seconds(86_400)
    /// The statuses that end an order.
    public var terminalStatuses = ["cancelled", "failed", "completed", "collected"]
    /// The statuses in which an order is still to be picked, and reminded of.
    public var unpickedStatuses = ["pending", "processing"]
    /// A status push of these types is not sent where a newer one of its order is in the same transaction.
    public var superseding: Set<EventType> = []
    /// Nil: no timers of our own, and those of upstream are sent.
    public var schedule: ScheduleRules? = ScheduleRules()

    public init() {}
}

/// What a user can decide about timers.
public struct ScheduleRules: Sendable, Equatable {
    /// How often a worker looks whether a timer is due.
    public var tick: Duration = .seconds(1)
    /// A timer that is later is not sent.
    public var maxLateness: Duration = .seconds(15 * 60)
    /// The timers of a place go up to so much later than the slot says, each place by its own share: providers ask
    /// senders to avoid the quarter-hours (push-rules §0, finding 4).
    public var spread: Duration = .zero

    public init() {}
}

/// The rules in the form that is asked for each event: numbers, and bytes to compare.
package struct OrderLimits {
    package let horizon: Int64
    let terminalRetention: Int64
    let maxLateness: Int64
    let spread: Int64
    let isScheduled: Bool
    private let terminal: [[UInt8]]
    private let unpicked: [[UInt8]]

    /// All times are in seconds but for `maxLateness`, which is in milliseconds.
    init(_ rules: OrderRules) {
        horizon = rules.horizon.wholeMilliseconds / 1000
        terminalRetention = min(rules.terminalRetention.wholeMilliseconds / 1000, horizon)
        maxLateness = rules.schedule?.maxLateness.wholeMilliseconds ?? 0
        spread = (rules.schedule?.spread.wholeMilliseconds ?? 0) / 1000
        isScheduled = rules.schedule != nil
        terminal = rules.terminalStatuses.map { Array($0.lowercased().utf8) }.sorted { $0.count < $1.count }
        unpicked = rules.unpickedStatuses.map { Array($0.lowercased().utf8) }.sorted { $0.count < $1.count }
    }

    func isTerminal(_ status: UnsafeRawBufferPointer) -> Bool { Self.contains(terminal, status) }
    func isUnpicked(_ status: UnsafeRawBufferPointer) -> Bool { Self.contains(unpicked, status) }

    /// In any case of the letters: a shop that writes CANCELLED means it.
    private static func contains(_ list: [[UInt8]], _ status: UnsafeRawBufferPointer) -> Bool {
        for known in list where known.count == status.count {
            var index = 0
            while index < known.count, known[index] == lowercase(status[index]) { index += 1 }
            if index == known.count { return true }
        }
        return false
    }

    private static func lowercase(_ byte: UInt8) -> UInt8 { byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte }
}
