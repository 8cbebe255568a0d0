import JSONReader

/// The members of an order that document 1 reads.
enum OrderMember: Int, MemberName {
    case id, orderNumber, referenceID, parentOrderID, placeID, place, status, orderType, type, orderDate, metadata
    case shippingInfo

    init?(_ name: JSONText) {
        switch name.count {
        case 2 where name == "id": self = .id
        case 4 where name == "type": self = .type
        case 5 where name == "place": self = .place
        case 6 where name == "status": self = .status
        case 8 where name == "place_id": self = .placeID
        case 8 where name == "metadata": self = .metadata
        case 10 where name == "order_type": self = .orderType
        case 10 where name == "order_date": self = .orderDate
        case 12 where name == "order_number": self = .orderNumber
        case 12 where name == "reference_id": self = .referenceID
        case 13 where name == "shipping_info": self = .shippingInfo
        case 15 where name == "parent_order_id": self = .parentOrderID
        default: return nil
        }
    }
}

/// The members of `shipping_info`.
enum ShippingMember: Int, MemberName {
    case slot, pickupDetails, placeID

    init?(_ name: JSONText) {
        switch name.count {
        case 4 where name == "slot": self = .slot
        case 8 where name == "place_id": self = .placeID
        case 14 where name == "pickup_details": self = .pickupDetails
        default: return nil
        }
    }
}

/// The members of `shipping_info.slot`.
enum SlotMember: Int, MemberName {
    case startTime, endTime, date, deliveryDate

    init?(_ name: JSONText) {
        switch name.count {
        case 4 where name == "date": self = .date
        case 8 where name == "end_time": self = .endTime
        case 10 where name == "start_time": self = .startTime
        case 13 where name == "delivery_date": self = .deliveryDate
        default: return nil
        }
    }
}

/// The members of Salesforce's `metadata`.
enum SalesforceMember: Int, MemberName {
    case deliverySlotStart, deliverySlotEnd

    init?(_ name: JSONText) {
        switch name.count {
        case 17 where name == "delivery_slot_end": self = .deliverySlotEnd
        case 19 where name == "delivery_slot_start": self = .deliverySlotStart
        default: return nil
        }
    }
}

typealias OrderMembers = Members<OrderMember, 12>
typealias ShippingMembers = Members<ShippingMember, 3>
typealias SlotMembers = Members<SlotMember, 4>
typealias SalesforceMembers = Members<SalesforceMember, 2>
