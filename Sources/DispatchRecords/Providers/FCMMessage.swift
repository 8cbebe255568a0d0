import Events
import NotificationPayload
import Subscriptions

/// The body of FCM's `messages:send` (docs/rules.md §1, §7).
struct FCMMessage: ~Copyable, ProviderMessage {
    /// The limit of `data`, for requests with `notification` (docs/rules.md §1.3).
    static var limit: Int { 4_096 }
    static var measured: StaticString { "the data of an FCM message has" }
    static var tokenMember: StaticString { "token" }

    /// Its end is everything after the token.
    var body = MessageBody()
    /// Whether a request's badge is sent.
    let sendsNotificationCount: Bool
    /// The part between an order's data and the expiry: the same for every notification.
    private var providers = ByteWriter(capacity: 256)

    init(_ settings: RenderSettings) {
        sendsNotificationCount = settings.sendsNotificationCount
        providers.append(#"},"android":{"priority":""#)
        switch settings.androidPriority {
        case .high: providers.append("high" as StaticString)
        case .normal: providers.append("normal" as StaticString)
        }
        providers.append(#"","ttl":""#)
        providers.append(decimal: settings.timeToLiveSeconds)
        providers.append(
            #"s"},"apns":{"headers":{"apns-push-type":"background","apns-priority":"5","apns-expiration":""#)
    }

    /// FCM counts the keys and values of `data` before they are escaped.
    static func validate(
        _ notification: Notification, _ order: Notification.Order, deepLink: UnsafeRawBufferPointer
    ) -> DeadLetter? {
        var size = "default".utf8.count + notification.payloadSize
        if let type = order.orderType {
            size += "order_type".utf8.count + type.text.utf8CodeUnitCount
            size += "order_id".utf8.count + order.orderID.count
        }
        return problem(ofSize: size)
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
        body.append(providers.bytes)
        body.append(expiresAt)
        body.append(#""},"payload":{"aps":{"content-available":1}}}}}"#)
    }

    mutating func render(_ device: Device) -> UnsafeRawBufferPointer {
        body.removeFront()
        body.prepend(device.token, needsEscaping: device.needsEscaping)
        body.prepend(#"{"message":{"token":""#)
        return body.bytes
    }
}
