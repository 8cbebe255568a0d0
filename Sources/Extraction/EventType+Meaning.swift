import NotificationPayload

/// What the pipeline does differently for some types of event. Exhaustive, so that a new type has to decide.
extension EventType {
    /// Whether the event says that an order's status has changed, and has to say to what.
    var isStatusChange: Bool {
        switch self {
        case .orderStatusChanged: true
        case .orderCreated, .timeslotStarted, .unpickedOrdersReminder, .orderIDsListed: false
        }
    }

    /// Whether the event is about one order and changes what is known of it: a later event of the order then overtakes it.
    package var changesOrder: Bool {
        switch self {
        case .orderCreated, .orderStatusChanged, .timeslotStarted, .unpickedOrdersReminder: true
        case .orderIDsListed: false
        }
    }

    /// Whether the pipeline's own timers send this, so that with a schedule an upstream's event is not sent as well.
    package var isSentByTimers: Bool {
        switch self {
        case .timeslotStarted, .unpickedOrdersReminder: true
        case .orderCreated, .orderStatusChanged, .orderIDsListed: false
        }
    }
}
