import NotificationPayload

/// The timers of an order, in the order in which they are due. The raw value is the number in their message ids.
package enum TimerKind: UInt8, CaseIterable, Sendable {
    case slotStart, firstReminder, secondReminder, thirdReminder

    /// The type of the notification that it sends.
    package var type: EventType {
        switch self {
        case .slotStart: .timeslotStarted
        case .firstReminder, .secondReminder, .thirdReminder: .unpickedOrdersReminder
        }
    }

    /// The number of the reminder, from 1; nil for a timer that is not a reminder.
    package var reminder: Int? {
        switch self {
        case .slotStart: nil
        case .firstReminder: 1
        case .secondReminder: 2
        case .thirdReminder: 3
        }
    }

    /// The time from the start of the slot until it is due, in seconds.
    var delay: Int64 {
        switch self {
        case .slotStart: 0
        case .firstReminder: 15 * 60
        case .secondReminder: 30 * 60
        case .thirdReminder: 45 * 60
        }
    }

    static let longestDelay = allCases.map(\.delay).max() ?? 0

    /// The timer that supersedes it once both are due; nil: it is sent even if later ones are due.
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
