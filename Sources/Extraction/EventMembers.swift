import JSONReader

/// The members of an event's body, of a CloudEvents envelope in structured mode, and of `{schema,payload}`.
enum EventMember: Int, MemberName {
    case order, orders, orderIDs, eventType, eventID, occurredAt, placeID, previousStatus, newStatus, slot
    case startTime, endTime, deliveryDate, specVersion, data, id, source, type, time, schema, payload

    init?(_ name: JSONText) {
        switch name.count {
        case 2 where name == "id": self = .id
        case 4 where name == "slot": self = .slot
        case 4 where name == "data": self = .data
        case 4 where name == "type": self = .type
        case 4 where name == "time": self = .time
        case 5 where name == "order": self = .order
        case 6 where name == "orders": self = .orders
        case 6 where name == "source": self = .source
        case 6 where name == "schema": self = .schema
        case 7 where name == "payload": self = .payload
        case 8 where name == "event_id": self = .eventID
        case 8 where name == "place_id": self = .placeID
        case 8 where name == "end_time": self = .endTime
        case 9 where name == "order_ids": self = .orderIDs
        case 10 where name == "event_type": self = .eventType
        case 10 where name == "new_status": self = .newStatus
        case 10 where name == "start_time": self = .startTime
        case 11 where name == "occurred_at": self = .occurredAt
        case 11 where name == "specversion": self = .specVersion
        case 13 where name == "delivery_date": self = .deliveryDate
        case 15 where name == "previous_status": self = .previousStatus
        default: return nil
        }
    }
}

typealias EventMembers = Members<EventMember, 21>

extension EventMembers {
    /// A body with one of these is the event; without them it is the order (design §4).
    var isEvent: Bool { self[.order] != nil || self[.orders] != nil || self[.orderIDs] != nil }
}
