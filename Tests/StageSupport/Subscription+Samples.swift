import Notifications

extension Subscription {
    package static func fcm(_ token: String, of audience: String = "place/7", lastSeen: WallTime? = noon)
        -> Subscription
    {
        Subscription(
            audience: audience, token: token, platform: .fcm, app: "com.example.app", lastSeenAt: lastSeen)
    }

    package static func apns(_ token: String, of audience: String = "place/7") -> Subscription {
        Subscription(audience: audience, token: token, platform: .apns, app: "com.example.App", lastSeenAt: noon)
    }

    /// A token that wants a place's notifications.
    package static func to(_ place: String, _ token: String) -> Subscription {
        Subscription(audience: "place/\(place)", token: token, platform: .fcm, app: "com.example.shop")
    }
}
