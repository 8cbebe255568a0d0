import JSONReader

/// The members of an event's body.
enum EventMember: String, MemberName {
    case order, orders, slot
    case orderIDs = "order_ids"
    case eventType = "event_type"
    case eventID = "event_id"
    case occurredAt = "occurred_at"
    case placeID = "place_id"
    case previousStatus = "previous_status"
    case newStatus = "new_status"
    case startTime = "start_time"
    case endTime = "end_time"
    case deliveryDate = "delivery_date"

    static let table = NameTable(Self.self, isInEnvelope: true)
}

typealias EventMembers = Members<EventMember, 22>

extension Members: EnvelopeBody where Name == EventMember {
    /// A body with one of these is the event; a body without them is the order (docs/code.md §4).
    var isEvent: Bool { isThere(.order) || isThere(.orders) || isThere(.orderIDs) }

    /// Whether it has the member, under whichever name.
    private func isThere(_ member: EventMember) -> Bool {
        var values = values(of: member)
        return values.next() != nil
    }

    subscript(member: EnvelopeMember) -> JSONValue? { value(at: Name.table.index(of: member)) }
}
