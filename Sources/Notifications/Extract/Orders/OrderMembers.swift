/// The members of an order that document 1 reads.
enum OrderMember: String, MemberName {
    case id, place, status, type, metadata
    case orderNumber = "order_number"
    case referenceID = "reference_id"
    case parentOrderID = "parent_order_id"
    case placeID = "place_id"
    case orderType = "order_type"
    case orderDate = "order_date"
    case shippingInfo = "shipping_info"

    static let table = NameTable(Self.self)
}

/// The members of `shipping_info`.
enum ShippingMember: String, MemberName {
    case slot
    case pickupDetails = "pickup_details"
    case placeID = "place_id"

    static let table = NameTable(Self.self)
}

/// The members of `shipping_info.slot`.
enum SlotMember: String, MemberName {
    case date
    case startTime = "start_time"
    case endTime = "end_time"
    case deliveryDate = "delivery_date"

    static let table = NameTable(Self.self)
}

/// The members of Salesforce's `metadata`.
enum SalesforceMember: String, MemberName {
    case deliverySlotStart = "delivery_slot_start"
    case deliverySlotEnd = "delivery_slot_end"

    static let table = NameTable(Self.self)
}

typealias OrderMembers = Members<OrderMember, 12>
typealias ShippingMembers = Members<ShippingMember, 3>
typealias SlotMembers = Members<SlotMember, 4>
typealias SalesforceMembers = Members<SalesforceMember, 2>
