import JSONReader

/// The members of an order that document 1 reads.
enum OrderMember: Int, MemberName {
    case id, orderNumber, referenceID, parentOrderID, placeID, place, status, orderType, type, orderDate, metadata
    case shippingInfo

    static let table = NameTable(allCases.map(\.name))

    var name: StaticString {
        switch self {
        case .id: "id"
        case .type: "type"
        case .place: "place"
        case .status: "status"
        case .placeID: "place_id"
        case .metadata: "metadata"
        case .orderType: "order_type"
        case .orderDate: "order_date"
        case .orderNumber: "order_number"
        case .referenceID: "reference_id"
        case .shippingInfo: "shipping_info"
        case .parentOrderID: "parent_order_id"
        }
    }
}

/// The members of `shipping_info`.
enum ShippingMember: Int, MemberName {
    case slot, pickupDetails, placeID

    static let table = NameTable(allCases.map(\.name))

    var name: StaticString {
        switch self {
        case .slot: "slot"
        case .placeID: "place_id"
        case .pickupDetails: "pickup_details"
        }
    }
}

/// The members of `shipping_info.slot`.
enum SlotMember: Int, MemberName {
    case startTime, endTime, date, deliveryDate

    static let table = NameTable(allCases.map(\.name))

    var name: StaticString {
        switch self {
        case .date: "date"
        case .endTime: "end_time"
        case .startTime: "start_time"
        case .deliveryDate: "delivery_date"
        }
    }
}

/// The members of Salesforce's `metadata`.
enum SalesforceMember: Int, MemberName {
    case deliverySlotStart, deliverySlotEnd

    static let table = NameTable(allCases.map(\.name))

    var name: StaticString {
        switch self {
        case .deliverySlotEnd: "delivery_slot_end"
        case .deliverySlotStart: "delivery_slot_start"
        }
    }
}

typealias OrderMembers = Members<OrderMember, 12>
typealias ShippingMembers = Members<ShippingMember, 3>
typealias SlotMembers = Members<SlotMember, 4>
typealias SalesforceMembers = Members<SalesforceMember, 2>
