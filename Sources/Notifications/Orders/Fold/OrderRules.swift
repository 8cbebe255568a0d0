/// The configuration of the order state and its schedule.
public struct OrderRules: Sendable {
    /// A field expires this long after the record that set it.
    public var horizon: Duration = .seconds(14 * 86_400)
    /// What is left of an ended order expires after this time; at most ``horizon``.
    public var terminalRetention: Duration = .seconds(86_400)
    /// What the orders of a partition may count as, in bytes; beyond it some are forgotten (ADR 52).
    public var maxBytes = 128 << 20
    /// The statuses that end an order.
    public var terminalStatuses = ["cancelled", "failed", "completed", "collected"]
    /// The statuses in which an order is still to be picked and gets reminders.
    public var unpickedStatuses = ["pending", "processing"]
    /// Nil: no timers; the reminders of the upstream are sent instead.
    public var schedule: ScheduleRules? = ScheduleRules()

    public init() {}
}

/// The configuration of timers.
public struct ScheduleRules: Sendable, Equatable {
    /// How often a worker checks for due timers.
    public var tick: Duration = .seconds(1)
    /// A timer that is more overdue than this is not sent.
    public var maxLateness: Duration = .seconds(15 * 60)
    /// A place's timers are delayed by at most this, each place by a fixed share: providers ask senders to avoid the
    /// quarter-hours (docs/rules.md §0, finding 4).
    public var spread: Duration = .zero

    public init() {}
}

/// The rules as the fold uses them for each event: numbers, and bytes to compare.
package struct OrderLimits {
    package let horizon: Int64
    let terminalRetention: Int64
    let maxLateness: Int64
    let spread: Int64
    let isScheduled: Bool
    let maxBytes: Int
    private let terminal: [[UInt8]]
    private let unpicked: [[UInt8]]

    /// All times are in seconds except `maxLateness`, which is in milliseconds.
    init(_ rules: OrderRules) {
        horizon = rules.horizon.wholeMilliseconds / 1000
        terminalRetention = min(rules.terminalRetention.wholeMilliseconds / 1000, horizon)
        maxLateness = rules.schedule?.maxLateness.wholeMilliseconds ?? 0
        spread = (rules.schedule?.spread.wholeMilliseconds ?? 0) / 1000
        maxBytes = rules.maxBytes
        isScheduled = rules.schedule != nil
        terminal = rules.terminalStatuses.map { Array($0.lowercased().utf8) }.sorted { $0.count < $1.count }
        unpicked = rules.unpickedStatuses.map { Array($0.lowercased().utf8) }.sorted { $0.count < $1.count }
    }

    func isTerminal(_ status: UnsafeRawBufferPointer) -> Bool { Self.contains(terminal, status) }
    func isUnpicked(_ status: UnsafeRawBufferPointer) -> Bool { Self.contains(unpicked, status) }

    /// Ignores case: a shop that writes CANCELLED means `cancelled`.
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
