import NotificationPayload

/// The timers of an order, in the order in which they are due. The raw value is the number in their message ids.
package enum TimerKind: UInt8, CaseIterable, Sendable {
    case slotStart, firstReminder, secondReminder, thirdReminder

    /// What it sends.
    package var type: EventType {
        switch self {
        case .slotStart: .timeslotStarted
        case .firstReminder, .secondReminder, .thirdReminder: .unpickedOrdersReminder
        }
    }

    /// Which reminder it is, from 1 on; nil for one that is none.
    package var reminder: Int? {
        switch self {
        case .slotStart: nil
        case .firstReminder: 1
        case .secondReminder: 2
        case .thirdReminder: 3
        }
    }

    /// How long after the start of the slot it is due, in seconds.
    var delay: Int64 {
        switch self {
        case .slotStart: 0
        case .firstReminder: 15 * 60
        case .secondReminder: 30 * 60
        case .thirdReminder: 45 * 60
        }
    }

    static let longestDelay = allCases.map(\.delay).max() ?? 0

    /// The timer that takes its place once both are due; nil: it is sent however late the next one is.
    var successor: TimerKind? {
        switch self {
        case .slotStart, .thirdReminder: nil
        case .firstReminder: .secondReminder
        case .secondReminder: .thirdReminder
        }
    }

    /// Whether it is sent only while the order is still to be picked.
    var wantsUnpicked: Bool {
        switch self {
        case .slotStart: false
        case .firstReminder, .secondReminder, .thirdReminder: true
        }
    }
}
