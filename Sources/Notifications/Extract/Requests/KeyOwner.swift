import JSONReader

/// Whom a key is reserved for, so that a request must not have it in `app.data` or `message.extras` (docs/rules.md
/// §8.6).
enum KeyOwner {
    case fcm, apns, carillon, otherPushes

    /// As a sentence names it.
    var name: StaticString {
        switch self {
        case .fcm: "FCM"
        case .apns: "APNs"
        case .carillon: "Carillon"
        case .otherPushes: "other kinds of push"
        }
    }

    /// Nil for a key that is free in both.
    init?(of key: UnsafeRawBufferPointer) {
        let text = JSONText(key)
        if text == "from" || text == "message_type" || text == "notification" || key.hasPrefix("google")
            || key.hasPrefix("gcm")
        {
            self = .fcm
        } else if text == "aps" {
            self = .apns
        } else if text == "message_id" {
            self = .carillon
        } else if text == "default" || text == "event_type" || text == "actiontype" {
            self = .otherPushes
        } else {
            return nil
        }
    }
}
