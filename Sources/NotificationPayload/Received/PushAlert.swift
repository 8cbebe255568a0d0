/// What the system shows, plays and groups by: FCM's `notification`, or an APNs payload's `aps`.
///
/// A push without any of it is silent. On Android, fill it in from the remote message's notification.
public struct PushAlert: Hashable, Sendable {
    /// `notification.title`, `aps.alert.title`.
    public var title: String?
    /// `notification.body`, `aps.alert.body`, or an `aps.alert` that is a string.
    public var body: String?
    /// A URL: `notification.image`, or `fcm_options.image` in a push that FCM sent through APNs.
    public var imageURL: String?
    /// `aps.badge`; FCM has none (document 5, "FCM Mapping").
    public var badge: Int?
    /// `notification.sound`, `aps.sound`, or the `name` of an `aps.sound` that is a dictionary.
    public var sound: String?
    /// The name of an Android resource: `notification.icon`.
    public var icon: String?
    /// `notification.tag`, `aps.category`.
    public var category: String?
    /// `collapse_key`, `aps.thread-id`.
    public var collapseKey: String?

    public init(
        title: String? = nil, body: String? = nil, imageURL: String? = nil, badge: Int? = nil, sound: String? = nil,
        icon: String? = nil, category: String? = nil, collapseKey: String? = nil
    ) {
        self.title = title
        self.body = body
        self.imageURL = imageURL
        self.badge = badge
        self.sound = sound
        self.icon = icon
        self.category = category
        self.collapseKey = collapseKey
    }
}
