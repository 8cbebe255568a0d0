import Pipeline

/// Everybody at the order's place; for a new order also those who follow new orders. A device in both gets one push.
struct PlaceAndNewOrders: AudienceRule {
    func addAudiences(
        of events: borrowing EventBatch, notifications: Range<Int>, to audiences: inout AudienceList
    ) {
        for index in notifications {
            switch events.notifications[index].kind {
            case .order(let order):
                audiences.append("place/\(events.string(order.placeID))", for: index)
                if order.eventType == .known(.orderCreated) {
                    audiences.append("channel/new-orders", for: index)
                }
            // A request names its audiences itself.
            case .request: continue
            }
        }
    }
}
