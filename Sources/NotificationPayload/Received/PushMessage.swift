/// An abstract push message as the phone sees it (document 5, "Abstract Push Message Object").
///
/// `validUntil` stays with the provider.
public struct PushMessage: Hashable, Sendable {
    public var title: String?
    public var body: String?
    /// The number on the app's icon; 0 removes it. FCM ignores it, so it is nil there.
    public var badge: Int?
    public var sound: String?
    /// The name of an Android resource. APNs ignores it, so it is nil there.
    public var icon: String?
    /// Comes as APNs's `aps.category`, or as FCM's `notification.tag`.
    public var category: String?
    /// Comes as APNs's `aps.thread-id`, or as FCM's `collapse_key`.
    public var collapseKey: String?
    /// The sender's own data, without `message_id`. APNs keeps the types of the values; FCM has strings only, in which
    /// anything else is compact JSON: ``PushValue/text`` gives the same for both.
    public var extras: [String: PushValue]
    /// The same for all devices of a message.
    public var messageID: String?

    /// Whether the system shows nothing (document 5, "Silent Messages").
    public var isSilent: Bool { title == nil && body == nil }

    public init(
        title: String? = nil, body: String? = nil, badge: Int? = nil, sound: String? = nil, icon: String? = nil,
        category: String? = nil, collapseKey: String? = nil, extras: [String: PushValue] = [:],
        messageID: String? = nil
    ) {
        self.title = title
        self.body = body
        self.badge = badge
        self.sound = sound
        self.icon = icon
        self.category = category
        self.collapseKey = collapseKey
        self.extras = extras
        self.messageID = messageID
    }

    init(_ push: ReceivedPush) {
        let alert = push.alert
        self.init(
            title: alert.title, body: alert.body, badge: alert.badge, sound: alert.sound, icon: alert.icon,
            category: alert.category, collapseKey: alert.collapseKey, extras: push.data, messageID: push.messageID)
        extras["message_id"] = nil
    }
}
