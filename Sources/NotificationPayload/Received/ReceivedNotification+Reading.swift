extension ReceivedNotification {
    /// Reads FCM's remote message.
    ///
    /// - Parameters:
    ///   - data: its `data`.
    ///   - alert: what its `notification` shows, if it has one.
    public init(data: [String: String], alert: PushAlert = PushAlert()) {
        self.init(ReceivedPush(data: data, alert: alert))
    }

    /// Reads what iOS and macOS hand to the app, from APNs or from FCM through APNs.
    public init(userInfo: [AnyHashable: Any]) {
        self.init(ReceivedPush(userInfo: userInfo))
    }

    /// Reads JSON in one of the forms of ``ReceivedPush/init(json:)-(String)``; anything else is
    /// ``UnknownNotification/Reason/notAnObject``.
    public init(json: String) {
        self.init(json: json.utf8)
    }

    /// As ``init(json:)-(String)``, from UTF-8.
    public init(json bytes: some Sequence<UInt8>) {
        if let push = ReceivedPush(json: bytes) {
            self.init(push)
        } else {
            self = .unknown(UnknownNotification(push: ReceivedPush(data: [:]), reason: .notAnObject))
        }
    }

    /// Tells the kinds apart; see ``ReceivedNotification`` for the order.
    public init(_ push: ReceivedPush) {
        let data = push.data
        if let value = data["default"], value != .null, value != .string("") {
            self = Self.order(from: value, push)
        } else if data["event_type"]?.nonEmpty != nil {
            self = Self.order(fields: data, push)
        } else if let actionType = data["actiontype"]?.nonEmpty, let id = data["notificationid"]?.nonEmpty {
            self = .broadcast(Broadcast(actionType: actionType, notificationID: id, push))
        } else if let type = data["type"]?.nonEmpty {
            self = .app(AppNotification(type: type, push))
        } else if data.isEmpty, push.alert == PushAlert() {
            self = .unknown(UnknownNotification(push: push, reason: .empty))
        } else {
            self = .message(PushMessage(push))
        }
    }

    /// - Parameter value: a string that holds JSON; or the object in it, which some frameworks have parsed already.
    private static func order(from value: PushValue, _ push: ReceivedPush) -> ReceivedNotification {
        do throws(OrderPayloadError) {
            return order(fields: try OrderPayload.fields(default: value), push)
        } catch {
            return .unknown(UnknownNotification(push: push, reason: .unreadableOrder))
        }
    }

    private static func order(fields: [String: PushValue], _ push: ReceivedPush) -> ReceivedNotification {
        let order = OrderNotification(payload: OrderPayload(fields: fields), push)
        return OtherNotification(order, fields: fields).map { .other($0) } ?? .order(order)
    }
}
