import NotificationPayload

extension Delivery {
    /// What the app gets to know of the push, on one line. What is absent is left out.
    func json(_ links: DeepLinks) -> String {
        let notification = ReceivedNotification(push)
        var members = Self.members(of: notification)
        members["device"] = .string(device)
        members["message_id"] = notification.messageID.map(PushValue.string)
        members["link"] = notification.deepLink(links).map(PushValue.string)
        return PushValue.object(members).json
    }

    private static func members(of notification: ReceivedNotification) -> [String: PushValue] {
        switch notification {
        case .order(let order):
            ["kind": .string("order"), "payload": .string(order.payload.encoded())]
        case .other(let other):
            [
                "kind": .string(other.name), "payload": .string(other.order.payload.encoded()),
                "fields": .object(other.fields.mapValues(PushValue.string)),
            ]
        case .app(let app):
            present([
                "kind": "app", "type": app.type, "title": app.title, "body": app.body, "image": app.imageURL,
            ]).merging(["data": .object(app.data.mapValues(PushValue.string))]) { $1 }
        case .message(let message):
            present([
                "kind": "message", "title": message.title, "body": message.body, "sound": message.sound,
                "icon": message.icon, "category": message.category, "collapse_key": message.collapseKey,
                "badge": message.badge.map(String.init),
            ]).merging(["extras": .object(message.extras)]) { $1 }
        case .broadcast(let broadcast):
            ["kind": .string("broadcast"), "data": .object(broadcast.data.mapValues(PushValue.string))]
        case .unknown(let unknown):
            ["kind": .string("unknown"), "reason": .string("\(unknown.reason)"), "data": .object(unknown.push.data)]
        }
    }

    private static func present(_ texts: [String: String?]) -> [String: PushValue] {
        texts.compactMapValues { $0.map(PushValue.string) }
    }
}
