import Pipeline

/// Everybody at the order's place; for a new order also those who follow new orders. A device in both gets one push.
struct PlaceAndNewOrders: AudienceRule {
    func addAudiences(
        of events: borrowing EventBatch, notifications: Range<Int>, to audiences: inout AudienceList
    ) {
        for index in notifications {
            let notification = events.notifications[index]
            audiences.append("place/\(events.string(notification.placeID))", for: index)
            if notification.eventType == .orderCreated {
                audiences.append("channel/new-orders", for: index)
            }
        }
    }
}
