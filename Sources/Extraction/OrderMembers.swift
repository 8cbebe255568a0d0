import JSONReader

/// The members of an order that document 1 reads, found in one walk.
struct OrderMembers {
    var id: JSONValue?
    var orderNumber: JSONValue?
    var referenceID: JSONValue?
    var parentOrderID: JSONValue?
    var placeID: JSONValue?
    var place: JSONValue?
    var status: JSONValue?
    var orderType: JSONValue?
    var type: JSONValue?
    var orderDate: JSONValue?
    var metadata: JSONValue?
    var shippingInfo: JSONValue?

    /// Nothing, for an id without an order.
    init() {}

    init(_ object: JSONValue) {
        var cursor = object.members
        while let (name, value) = cursor.next() {
            switch name.count {
            case 2 where name == "id": id = value
            case 4 where name == "type": type = value
            case 5 where name == "place": place = value
            case 6 where name == "status": status = value
            case 8 where name == "place_id": placeID = value
            case 8 where name == "metadata": metadata = value
            case 10 where name == "order_date": orderDate = value
            case 10 where name == "order_type": orderType = value
            case 12 where name == "order_number": orderNumber = value
            case 12 where name == "reference_id": referenceID = value
            case 13 where name == "shipping_info": shippingInfo = value
            case 15 where name == "parent_order_id": parentOrderID = value
            default: break
            }
        }
    }
}

/// The members of `shipping_info`.
struct ShippingMembers {
    var slot: JSONValue?
    var pickupDetails: JSONValue?
    var placeID: JSONValue?

    init(_ object: JSONValue?) {
        guard var cursor = object?.members else { return }
        while let (name, value) = cursor.next() {
            switch name.count {
            case 4 where name == "slot": slot = value
            case 8 where name == "place_id": placeID = value
            case 14 where name == "pickup_details": pickupDetails = value
            default: break
            }
        }
    }
}

/// The members of `shipping_info.slot`.
struct SlotMembers {
    var startTime: JSONValue?
    var endTime: JSONValue?
    var date: JSONValue?
    var deliveryDate: JSONValue?

    init(_ object: JSONValue?) {
        guard var cursor = object?.members else { return }
        while let (name, value) = cursor.next() {
            switch name.count {
            case 4 where name == "date": date = value
            case 8 where name == "end_time": endTime = value
            case 10 where name == "start_time": startTime = value
            case 13 where name == "delivery_date": deliveryDate = value
            default: break
            }
        }
    }
}

/// The members of Salesforce's `metadata`.
struct SalesforceMembers {
    var slotStart: JSONValue?
    var slotEnd: JSONValue?

    init(_ object: JSONValue?) {
        guard var cursor = object?.members else { return }
        while let (name, value) = cursor.next() {
            switch name.count {
            case 17 where name == "delivery_slot_end": slotEnd = value
            case 19 where name == "delivery_slot_start": slotStart = value
            default: break
            }
        }
    }
}
