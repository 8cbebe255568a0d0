/// The values that are read in an order's object, by their known paths (docs/rules.md §5.3).
package enum OrderValue: String, CaseIterable, Sendable {
    case id, status, type
    case orderNumber = "order_number"
    case referenceID = "reference_id"
    case parentOrderID = "parent_order_id"
    case placeID = "place_id"
    case orderType = "order_type"
    case orderDate = "order_date"
    case shippingPlaceID = "shipping_info.place_id"
    case slotStart = "shipping_info.slot.start_time"
    case slotEnd = "shipping_info.slot.end_time"
    case slotDate = "shipping_info.slot.date"
    case slotDeliveryDate = "shipping_info.slot.delivery_date"
    case pickupTimeSlot = "shipping_info.pickup_details.time_slot"
    case salesforceStart = "metadata.delivery_slot_start"
    case salesforceEnd = "metadata.delivery_slot_end"

    /// Every path that is read in an order without a mapping, also those of the objects around the values.
    static let knownPaths: Set<String> = Set(
        allCases.map(\.rawValue) + OrderMember.allCases.map(\.rawValue)
            + ShippingMember.allCases.map { "shipping_info.\($0.rawValue)" } + ["place.id"])
}
