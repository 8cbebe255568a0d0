/// A push about an order, of an event type that the sender's settings declare (docs/rules.md §5.7).
public struct OtherNotification: Hashable, Sendable {
    /// The type's own name, such as `order_delayed`: what the payload carries in `event_type`, without `event_`.
    public var name: String
    /// Document 1's fields. Those of an event that is about no order may be empty.
    public var order: OrderNotification
    /// The fields that the type adds, by name.
    public var fields: [String: String]

    public init(name: String, order: OrderNotification, fields: [String: String] = [:]) {
        self.name = name
        self.order = order
        self.fields = fields
    }

    /// - Returns: nil if document 1 has the type, or if it is none.
    init?(_ order: OrderNotification, fields: [String: PushValue]) {
        let type = order.payload.eventType
        guard type.hasPrefix("event_"), type.count > "event_".count, EventType(rawValue: type) == nil else {
            return nil
        }
        let deepLink = ["order_type", "default"]
        self.init(
            name: String(type.dropFirst("event_".count)), order: order,
            fields: fields.filter { OrderField(rawValue: $0.key) == nil && !deepLink.contains($0.key) }
                .compactMapValues(\.scalar))
    }
}
