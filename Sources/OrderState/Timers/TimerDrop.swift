/// Why a timer is not sent.
public enum TimerDrop: UInt8, CaseIterable, Sendable {
    /// Later than `schedule.max-lateness`, by the clock of the transaction.
    case tooLate
    /// It was due before the record that set it, or before the timer watermark.
    case alreadyStarted
    /// A later reminder of the same order is due at the same tick.
    case superseded
    /// The status is not one of an order that is still to be picked.
    case picked
    /// The order has been cancelled, has failed, or is done.
    case ended
    /// The order has no slot, or a fallback's.
    case noSlot
    case noSubscriber, staleToken

    /// The label of its counter.
    public var label: String {
        switch self {
        case .tooLate: "too_late"
        case .alreadyStarted: "already_started"
        case .superseded: "superseded"
        case .picked: "picked"
        case .ended: "ended"
        case .noSlot: "no_slot"
        case .noSubscriber: "no_subscriber"
        case .staleToken: "stale_token"
        }
    }

    /// Whether its number is that of orders: without a slot they have no timers that could be counted.
    package var countsOrders: Bool {
        switch self {
        case .noSlot: true
        case .tooLate, .alreadyStarted, .superseded, .picked, .ended, .noSubscriber, .staleToken: false
        }
    }
}

/// The timers that an event settles before they are due.
package struct SettledTimers: Equatable {
    package var alreadyStarted = 0
    package var ended = 0
    /// 1 for a new order without a slot.
    package var noSlot = 0

    package init(alreadyStarted: Int = 0, ended: Int = 0, noSlot: Int = 0) {
        self.alreadyStarted = alreadyStarted
        self.ended = ended
        self.noSlot = noSlot
    }
}
