/// What a phone received, before anybody has looked at what it means.
public struct ReceivedPush: Hashable, Sendable {
    /// FCM's `data`, or the members beside `aps`; without what the providers add for themselves.
    public var data: [String: PushValue]
    public var alert: PushAlert

    /// - Parameters:
    ///   - data: the `data` of FCM's remote message. The keys that FCM reserves are left out (docs/rules.md §1.2), and
    ///     so are its `collapse_key` and `fcm_options`.
    ///   - alert: what its `notification` shows, if it has one.
    public init(data: [String: String], alert: PushAlert = PushAlert()) {
        self.init(fromFCM: data.mapValues(PushValue.string), alert: alert)
    }

    /// - Parameter payload: the payload of APNs: `aps`, and the members beside it. Where FCM sent it through APNs, what
    ///   FCM adds is left out as well; it is recognised by a name that begins with `gcm.` or `google.c.`.
    public init(payload: [String: PushValue]) {
        let alert = PushAlert(aps: payload["aps"])
        if payload.keys.contains(where: { $0.hasPrefix("gcm.") || $0.hasPrefix("google.c.") }) {
            self.init(fromFCM: payload, alert: alert)
        } else {
            self.init(own: payload.filter { $0.key != "aps" }, alert: alert)
        }
    }

    /// - Parameter userInfo: what iOS and macOS hand to the app. Members that JSON cannot have are left out.
    public init(userInfo: [AnyHashable: Any]) {
        self.init(payload: PushValue.members(userInfo))
    }

    /// Reads what some frameworks hand to the app as JSON. One of:
    ///
    /// - the payload of APNs, with `aps`;
    /// - an object with an object `data`, an object `notification`, or both: FCM's remote message. Without
    ///   `notification`, `title`, `body` and `imageUrl` are beside `data` (document 2, "Structure");
    /// - any other object: FCM's `data` alone.
    ///
    /// - Returns: nil where this is not JSON, or not an object.
    public init?(json: String) {
        self.init(json: json.utf8)
    }

    /// As ``init(json:)-(String)``, from UTF-8.
    public init?(json bytes: some Sequence<UInt8>) {
        guard let members = PushValue(json: bytes)?.object else { return nil }
        let (data, notification) = (members["data"]?.object, members["notification"]?.object)
        if members["aps"] != nil {
            self.init(payload: members)
        } else if data != nil || notification != nil {
            let alert = PushAlert(notification: notification ?? members, remoteMessage: members)
            self.init(fromFCM: data ?? [:], alert: alert)
        } else {
            self.init(fromFCM: members, alert: PushAlert())
        }
    }

    init(own data: [String: PushValue], alert: PushAlert) {
        self.data = data
        self.alert = alert
    }

    private init(fromFCM data: [String: PushValue], alert: PushAlert) {
        self.init(own: data.filter { !Self.isProviders(name: $0.key) }, alert: alert)
        self.alert.collapseKey = alert.collapseKey ?? data["collapse_key"]?.string
        self.alert.imageURL = alert.imageURL ?? data["fcm_options"]?["image"]?.string
    }

    /// Requests' payloads carry it as one member more; an order's is inside `default`.
    var messageID: String? { data["message_id"]?.nonEmpty }

    private static func isProviders(name: String) -> Bool {
        let reserved = ["aps", "from", "message_type", "notification", "collapse_key", "fcm_options"]
        return reserved.contains(name) || name.hasPrefix("google") || name.hasPrefix("gcm")
    }
}

extension PushAlert {
    /// Apple's documentation, "Generating a remote notification".
    fileprivate init(aps: PushValue?) {
        let alert = aps?["alert"]
        self.init(
            title: alert?["title"]?.string, body: alert?["body"]?.string ?? alert?.string, badge: aps?["badge"]?.int,
            sound: aps?["sound"]?["name"]?.string ?? aps?["sound"]?.string, category: aps?["category"]?.string,
            collapseKey: aps?["thread-id"]?.string)
    }

    fileprivate init(notification: [String: PushValue], remoteMessage: [String: PushValue]) {
        self.init(
            title: notification["title"]?.string, body: notification["body"]?.string,
            imageURL: (notification["image"] ?? notification["imageUrl"])?.string,
            sound: notification["sound"]?.string, icon: notification["icon"]?.string,
            category: notification["tag"]?.string,
            collapseKey: (remoteMessage["collapseKey"] ?? remoteMessage["collapse_key"])?.string)
    }
}
