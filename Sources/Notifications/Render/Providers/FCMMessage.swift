import NotificationPayload

/// The body of FCM's `messages:send` (docs/rules.md §1, §7).
struct FCMMessage: ~Copyable, ProviderMessage {
    /// The limit of `data` and `notification` (docs/rules.md §1.3).
    static var limit: Int { 4_096 }
    static var measured: StaticString { "the data of an FCM message has" }
    static var measuredShown: StaticString { "the data and notification of an FCM message have" }
    static let collapseKey: [StaticString] = ["message", "android", "collapse_key"]

    /// Its end is everything after the token.
    var body = MessageBody()
    /// The same for an order's message that is shown: its end is everything after `notification`.
    private var shown = MessageBody()
    /// Whether a request's badge is sent.
    let sendsNotificationCount: Bool
    /// The part of an order's message between its data and what the notification decides.
    private var android = ByteWriter(capacity: 256)

    init(_ settings: RenderSettings) {
        sendsNotificationCount = settings.sendsNotificationCount
        android.append(#"},"android":{"priority":""#)
        switch settings.androidPriority {
        case .high: android.append("high" as StaticString)
        case .normal: android.append("normal" as StaticString)
        }
        android.append(#"","ttl":""#)
        android.append(decimal: settings.timeToLiveSeconds)
        android.append(#"s""#)
    }

    /// FCM counts the keys and values of `data` before they are escaped.
    static func size(
        of notification: Notification, _ order: Notification.Order, deepLink: UnsafeRawBufferPointer
    ) -> Int {
        var size = "default".utf8.count + notification.payloadSize
        if let type = order.orderType {
            size += "order_type".utf8.count + type.text.utf8CodeUnitCount
            size += "order_id".utf8.count + order.orderID.count
        }
        return size
    }

    static func size(of notice: OrderNotices.Notice) -> Int {
        "title".utf8.count + "body".utf8.count + notice.size
    }

    mutating func begin(
        _ notification: Notification, _ batch: borrowing EventBatch, deepLink: UnsafeRawBufferPointer,
        expiresAt: UnsafeRawBufferPointer
    ) {
        body.removeAll()
        body.append(#"","data":{"default":""#)
        body.append(batch.bytes(notification.payload))
        body.append("\"")
        body.append(deepLink)
        body.append(android.bytes)
        body.append(#"},"apns":{"headers":{"apns-push-type":"background","apns-priority":"5","apns-expiration":""#)
        body.append(expiresAt)
        body.append(#""},"payload":{"aps":{"content-available":1}}}}}"#)
    }

    mutating func beginShown(
        _ notification: Notification, _ batch: borrowing EventBatch, deepLink: UnsafeRawBufferPointer,
        expiresAt: UnsafeRawBufferPointer
    ) {
        let messageID = batch.bytes(notification.messageID)
        shown.removeAll()
        shown.append(#","data":{"default":""#)
        shown.append(batch.bytes(notification.payload))
        shown.append("\"")
        shown.append(deepLink)
        shown.append(android.bytes)
        shown.append(#","notification":{"tag":""#)
        shown.append(messageID)
        shown.append(
            #""}},"apns":{"headers":{"apns-push-type":"alert","apns-priority":"10","apns-expiration":""#)
        shown.append(expiresAt)
        shown.append(#"","apns-collapse-id":""#)
        shown.append(messageID)
        shown.append(#""},"payload":{"aps":{"content-available":1}}}}}"#)
    }

    var silentSize: Int { body.endCount }
    var shownSize: Int { shown.endCount }

    mutating func render(_ device: Device) -> UnsafeRawBufferPointer {
        body.removeFront()
        Self.prepend(device, to: &body)
        return body.bytes
    }

    mutating func render(_ device: Device, notice: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        shown.removeFront()
        shown.prepend(notice)
        shown.prepend(#"","notification":"#)
        Self.prepend(device, to: &shown)
        return shown.bytes
    }

    /// Everything up to the end of the token.
    static func prepend(_ device: Device, to body: inout MessageBody) {
        body.prepend(device.token, needsEscaping: device.needsEscaping)
        switch device.kind {
        case .registrationToken, .apnsToken: body.prepend(#"{"message":{"token":""#)
        case .installationID: body.prepend(#"{"message":{"fid":""#)
        }
    }
}
