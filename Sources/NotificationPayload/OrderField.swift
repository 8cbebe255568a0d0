/// The members of an order's payload, in the order in which they are written (document 1, "Base Payload Structure" and
/// "ORDER_STATUS_CHANGED").
package enum OrderField: String, CaseIterable, Sendable {
    case messageID = "message_id"
    case orderID = "order_id"
    case parentOrderID = "parent_order_id"
    case visibleID = "visible_id"
    case eventType = "event_type"
    case deliveryDate = "delivery_date"
    case startTime = "start_time"
    case endTime = "end_time"
    case placeID = "place_id"
    case previousStatus = "previous_status"
    case newStatus = "new_status"
    case orderNumber = "order_number"

    var index: Int {
        switch self {
        case .messageID: 0
        case .orderID: 1
        case .parentOrderID: 2
        case .visibleID: 3
        case .eventType: 4
        case .deliveryDate: 5
        case .startTime: 6
        case .endTime: 7
        case .placeID: 8
        case .previousStatus: 9
        case .newStatus: 10
        case .orderNumber: 11
        }
    }

    /// `\"message_id\":\"`, as it is written.
    var opening: StaticString {
        switch self {
        case .messageID: #"\"message_id\":\""#
        case .orderID: #"\"order_id\":\""#
        case .parentOrderID: #"\"parent_order_id\":\""#
        case .visibleID: #"\"visible_id\":\""#
        case .eventType: #"\"event_type\":\""#
        case .deliveryDate: #"\"delivery_date\":\""#
        case .startTime: #"\"start_time\":\""#
        case .endTime: #"\"end_time\":\""#
        case .placeID: #"\"place_id\":\""#
        case .previousStatus: #"\"previous_status\":\""#
        case .newStatus: #"\"new_status\":\""#
        case .orderNumber: #"\"order_number\":\""#
        }
    }
}
