import JSONReader

/// The members of an event's body, of a CloudEvents envelope in structured mode, and of `{schema,payload}`.
enum EventMember: Int, MemberName {
    case order, orders, orderIDs, eventType, eventID, occurredAt, placeID, previousStatus, newStatus, slot
    case startTime, endTime, deliveryDate, specVersion, data, dataBase64, id, source, type, time, schema, payload

    static let table = NameTable(allCases.map(\.name))

    var name: StaticString {
        switch self {
        case .id: "id"
        case .slot: "slot"
        case .data: "data"
        case .type: "type"
        case .time: "time"
        case .order: "order"
        case .orders: "orders"
        case .source: "source"
        case .schema: "schema"
        case .payload: "payload"
        case .eventID: "event_id"
        case .placeID: "place_id"
        case .endTime: "end_time"
        case .orderIDs: "order_ids"
        case .eventType: "event_type"
        case .newStatus: "new_status"
        case .startTime: "start_time"
        case .occurredAt: "occurred_at"
        case .specVersion: "specversion"
        case .dataBase64: "data_base64"
        case .deliveryDate: "delivery_date"
        case .previousStatus: "previous_status"
        }
    }
}

typealias EventMembers = Members<EventMember, 22>

extension Members: EnvelopeBody where Name == EventMember {
    /// A body with one of these is the event; a body without them is the order (docs/code.md §4).
    var isEvent: Bool {
        self[EventMember.order] != nil || self[EventMember.orders] != nil || self[EventMember.orderIDs] != nil
    }

    subscript(member: EnvelopeMember) -> JSONValue? {
        switch member {
        case .specVersion: self[EventMember.specVersion]
        case .id: self[EventMember.id]
        case .source: self[EventMember.source]
        case .type: self[EventMember.type]
        case .time: self[EventMember.time]
        case .data: self[EventMember.data]
        case .dataBase64: self[EventMember.dataBase64]
        case .schema: self[EventMember.schema]
        case .payload: self[EventMember.payload]
        }
    }
}
