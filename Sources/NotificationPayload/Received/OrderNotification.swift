/// A push about an order (document 1).
public struct OrderNotification: Hashable, Sendable {
    /// As it was sent: ``OrderPayload/problems`` says what is wrong with it.
    public var payload: OrderPayload
    /// Only orders of type food and d2d have them (docs/rules.md §5.5).
    public var deepLinkKeys: DeepLinkKeys?

    public init(payload: OrderPayload, deepLinkKeys: DeepLinkKeys? = nil) {
        self.payload = payload
        self.deepLinkKeys = deepLinkKeys
    }
}
