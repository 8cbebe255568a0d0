/// The event types of document 1. The raw value is what a payload carries in `event_type`.
public enum EventType: String, CaseIterable, Sendable {
    case orderCreated = "event_order_created"
    case orderStatusChanged = "event_order_status_changed"
    case timeslotStarted = "event_timeslot_started"
    case unpickedOrdersReminder = "event_unpicked_orders_reminder"
    case orderIDsListed = "event_order_ids_listed"
}
