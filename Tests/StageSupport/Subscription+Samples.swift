import Notifications

/// 2025-07-07T14:00:00Z.
package let noon = WallTime(milliseconds: 1_751_896_800_000)
package let day: Int64 = 86_400_000

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
