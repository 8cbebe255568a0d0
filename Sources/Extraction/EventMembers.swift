import JSONReader

/// The members of an event's body, of a CloudEvents envelope and of a `{schema,payload}` envelope, found in one walk.
struct EventMembers {
    let object: JSONValue
    var order: JSONValue?
    var orders: JSONValue?
    var orderIDs: JSONValue?
    var eventType: JSONValue?
    var eventID: JSONValue?
    var occurredAt: JSONValue?
    var placeID: JSONValue?
    var previousStatus: JSONValue?
    var newStatus: JSONValue?
    /// What ORDER_IDS_LISTED may say for all its orders.
    var slot: JSONValue?
    var startTime: JSONValue?
    var endTime: JSONValue?
    var deliveryDate: JSONValue?
    // CloudEvents, structured mode.
    var specVersion: JSONValue?
    var data: JSONValue?
    var id: JSONValue?
    var source: JSONValue?
    var type: JSONValue?
    var time: JSONValue?
    // Kafka Connect's JSON with its schema.
    var schema: JSONValue?
    var payload: JSONValue?

    init(_ object: JSONValue) {
        self.object = object
        var cursor = object.members
        while let (name, value) = cursor.next() {
            switch name.count {
            case 2 where name == "id": id = value
            case 4 where name == "data": data = value
            case 4 where name == "type": type = value
            case 4 where name == "time": time = value
            case 4 where name == "slot": slot = value
            case 5 where name == "order": order = value
            case 6 where name == "orders": orders = value
            case 6 where name == "source": source = value
            case 6 where name == "schema": schema = value
            case 7 where name == "payload": payload = value
            case 8 where name == "event_id": eventID = value
            case 8 where name == "place_id": placeID = value
            case 8 where name == "end_time": endTime = value
            case 9 where name == "order_ids": orderIDs = value
            case 10 where name == "event_type": eventType = value
            case 10 where name == "new_status": newStatus = value
            case 10 where name == "start_time": startTime = value
            case 11 where name == "occurred_at": occurredAt = value
            case 11 where name == "specversion": specVersion = value
            case 13 where name == "delivery_date": deliveryDate = value
            case 15 where name == "previous_status": previousStatus = value
            default: break
            }
        }
    }

    /// A body with one of these is the event; without them it is the order (design §4).
    var isEvent: Bool { order != nil || orders != nil || orderIDs != nil }
}
