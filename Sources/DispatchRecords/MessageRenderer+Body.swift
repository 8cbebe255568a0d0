import Events
import Subscriptions

extension MessageRenderer {
    /// FCM's limit for `data` and Apple's for a payload, in bytes (push-rules §1.3, §2.3).
    static let largestPayload = 4_096

    /// Why this notification cannot be sent to these platforms; nil if it can.
    ///
    /// FCM counts the keys and values of `data` before they are escaped, Apple the payload's JSON as it goes out. Leaves
    /// the deep link, which both messages are made of.
    mutating func problem(
        _ notification: Notification, in batch: borrowing EventBatch, platforms: PlatformSet
    ) -> DeadLetter? {
        writeDeepLink(of: notification, batch)
        for platform in Platform.allCases where platforms.contains(PlatformSet(platform)) {
            let (size, what): (Int, StaticString) =
                switch platform {
                case .fcm: (Self.fcmDataCount(notification), "the data of an FCM message")
                case .apns:
                    (
                        Self.apnsFrameCount + notification.payload.count + deepLink.count,
                        "the payload of an APNs message"
                    )
                }
            if size > Self.largestPayload { return .payloadTooLarge(size, in: what, limit: Self.largestPayload) }
        }
        return nil
    }

    private static func fcmDataCount(_ notification: Notification) -> Int {
        var size = "default".utf8.count + notification.payloadSize
        if let type = notification.orderType {
            size += "order_type".utf8.count + type.text.utf8CodeUnitCount
            size += "order_id".utf8.count + notification.orderID.count
        }
        return size
    }

    /// The two flat keys that the app's deep link needs, as strings, on both platforms (push-rules §5.5, §7).
    private mutating func writeDeepLink(of notification: Notification, _ batch: borrowing EventBatch) {
        deepLink.removeAll()
        guard let type = notification.orderType else { return }
        deepLink.append(#","order_type":""#)
        deepLink.append(type.text)
        deepLink.append(#"","order_id":""#)
        deepLink.appendEscaped(batch.bytes(notification.orderID))
        deepLink.append("\"")
    }

    mutating func writeProviders(_ settings: RenderSettings) {
        fcmProviders.append(#"},"android":{"priority":""#)
        switch settings.androidPriority {
        case .high: fcmProviders.append("high" as StaticString)
        case .normal: fcmProviders.append("normal" as StaticString)
        }
        fcmProviders.append(#"","ttl":""#)
        fcmProviders.append(decimal: settings.timeToLiveSeconds)
        fcmProviders.append(
            #"s"},"apns":{"headers":{"apns-push-type":"background","apns-priority":"5","apns-expiration":""#)
    }

    mutating func writeFCMTail(
        _ notification: Notification, _ batch: borrowing EventBatch, _ expiresAt: UnsafeRawBufferPointer
    ) {
        fcm.removeAll()
        fcm.append(#"","data":{"default":""#)
        fcm.append(batch.bytes(notification.payload))
        fcm.append("\"")
        fcm.append(deepLink.bytes)
        fcm.append(fcmProviders.bytes)
        fcm.append(expiresAt)
        fcm.append(#""},"payload":{"aps":{"content-available":1}}}}}"#)
    }

    mutating func writeAPNsTail(
        _ notification: Notification, _ batch: borrowing EventBatch, _ expiresAt: UnsafeRawBufferPointer
    ) {
        apns.removeAll()
        apns.append(#"","apns-push-type":"background","apns-priority":"5","apns-expiration":""#)
        apns.append(expiresAt)
        apns.append(#"","apns-collapse-id":""#)
        apns.append(batch.bytes(notification.messageID))
        apns.append(#""},"payload":"#)
        apns.append(Self.apnsFrame)
        apns.append(batch.bytes(notification.payload))
        apns.append("\"")
        apns.append(deepLink.bytes)
        apns.append("}}")
    }

    /// The payload of an APNs message up to the text of `default`; a quote, the deep link and a brace come after it.
    private static var apnsFrame: StaticString { #"{"aps":{"content-available":1},"default":""# }
    private static var apnsFrameCount: Int { apnsFrame.utf8CodeUnitCount + 2 }
}
