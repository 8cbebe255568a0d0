/// Why a timer is not sent.
public enum TimerDrop: UInt8, CaseIterable, Sendable {
    /// It is later than `schedule.max-lateness` by the clock of the transaction.
    case tooLate
    /// It was due before the record that set it, or before the timer watermark.
    case alreadyStarted
    /// A later reminder of the same order is due in the same tick.
    case superseded
    /// The status is not one of an order that is still to be picked.
    case picked
    /// The order is cancelled, failed or complete.
    case ended
    /// The order has no slot, or only a fallback slot.
    case noSlot
    case noSubscriber, staleToken
    /// The order was forgotten, because those of its partition exceeded `state.max-bytes`.
    case forgotten

    /// The label of this reason's counter.
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
        case .forgotten: "forgotten"
        }
    }

    /// Whether its count is of orders and not of timers: an order without a slot has no timers to count.
    package var countsOrders: Bool {
        switch self {
        case .noSlot: true
        case .tooLate, .alreadyStarted, .superseded, .picked, .ended, .noSubscriber, .staleToken, .forgotten: false
        }
    }
}

/// Timers cancelled by this event. For `.noSlot`, `timers` counts orders.
package struct CancelledTimers: Equatable {
    package var alreadyStarted = 0
    package var ended = 0
    /// 1 for a new order without a slot.
    package var noSlot = 0
    /// The timers of the orders that it made the partition forget, and how many these orders were.
    package var forgotten = 0
    package var forgottenOrders = 0
}
