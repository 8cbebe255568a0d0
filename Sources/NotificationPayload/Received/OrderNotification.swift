/// A push about an order (document 1).
public struct OrderNotification: Hashable, Sendable {
    /// As it was sent: ``OrderPayload/problems`` says what is wrong with it.
    public var payload: OrderPayload
    /// Only orders of type food and d2d have them (docs/rules.md §5.5).
    public var deepLinkKeys: DeepLinkKeys?
    /// What the system shows of it; nil if the push is data only, which it is unless the sender has `display=on`
    /// (docs/rules.md §7.1). The app then writes a text of its own.
    public var title: String?
    public var body: String?

    public init(
        payload: OrderPayload, deepLinkKeys: DeepLinkKeys? = nil, title: String? = nil, body: String? = nil
    ) {
        self.payload = payload
        self.deepLinkKeys = deepLinkKeys
        self.title = title
        self.body = body
    }

    var messageID: String? { payload.messageID.isEmpty ? nil : payload.messageID }

    init(payload: OrderPayload, _ push: ReceivedPush) {
        self.init(
            payload: payload, deepLinkKeys: DeepLinkKeys(push.data), title: push.alert.title, body: push.alert.body)
    }
}
