import NotificationPayload

/// What a provider hands to the app of its message.
enum Phone {
    /// FCM's library on Android.
    static func onAndroid(_ message: PushValue) -> ReceivedNotification {
        let android = message["android"]
        let shown = (message["notification"]?.object ?? [:])
            .merging(android?["notification"]?.object ?? [:]) { $1 }
        var remote: [String: PushValue] = ["data": message["data"] ?? .null]
        remote["notification"] = shown.isEmpty ? nil : .object(shown)
        remote["collapseKey"] = android?["collapse_key"]
        return ReceivedNotification(json: PushValue.object(remote).json)
    }

    /// iOS, where FCM has reached the app through APNs: FCM adds the title and the body of its notification to
    /// `aps.alert`, and names of its own.
    static func onIOS(_ message: PushValue) -> ReceivedNotification {
        var payload = message["data"]?.object ?? [:]
        var aps = message["apns"]?["payload"]?["aps"]?.object ?? [:]
        var alert = aps["alert"]?.object ?? [:]
        for name in ["title", "body"] {
            if let text = message["notification"]?[name] { alert[name] = text }
        }
        aps["alert"] = alert.isEmpty ? nil : .object(alert)
        payload["aps"] = .object(aps)
        payload["fcm_options"] = message["apns"]?["fcm_options"]
        payload["gcm.message_id"] = .string("1")
        return ReceivedNotification(json: PushValue.object(payload).json)
    }
}
