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

extension OrderEventType {
    /// What a payload carries in `event_type`, as bytes that are valid forever.
    package var name: UnsafeRawBufferPointer {
        switch self {
        case .known(let type): type.name
        case .own(let type): type.name
        }
    }

    var isStatusChange: Bool {
        switch self {
        case .known(let type): type.isStatusChange
        case .own: false
        }
    }

    package var changesOrder: Bool {
        switch self {
        case .known(let type): type.changesOrder
        case .own(let type):
            switch type.state {
            case .unchanged: false
            case .kept: true
            }
        }
    }

    package var isSentByTimers: Bool {
        switch self {
        case .known(let type): type.isSentByTimers
        case .own: false
        }
    }

    /// Whether an event of it may do without an order's id.
    var isOrderOptional: Bool {
        switch self {
        case .known: false
        case .own(let type):
            switch type.order {
            case .required: false
            case .optional: true
            }
        }
    }
}
