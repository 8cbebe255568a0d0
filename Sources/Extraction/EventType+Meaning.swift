import NotificationPayload

/// How the pipeline treats the types of events. Exhaustive, so that every new type must be decided.
extension EventType {
    /// Whether the event reports a change of an order's status, and must name the new one.
    var isStatusChange: Bool {
        switch self {
        case .orderStatusChanged: true
        case .orderCreated, .timeslotStarted, .unpickedOrdersReminder, .orderIDsListed: false
        }
    }

    /// Whether the event is about one order and changes its state.
    package var changesOrder: Bool {
        switch self {
        case .orderCreated, .orderStatusChanged, .timeslotStarted, .unpickedOrdersReminder: true
        case .orderIDsListed: false
        }
    }

    /// Whether the pipeline's own timers send this: with a schedule, such an event from the upstream is not sent.
    package var isSentByTimers: Bool {
        switch self {
        case .timeslotStarted, .unpickedOrdersReminder: true
        case .orderCreated, .orderStatusChanged, .orderIDsListed: false
        }
    }
}
