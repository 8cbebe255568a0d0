import Extraction
import NotificationPayload

extension MessageRenderer {
    /// FCM's limit for `data` and Apple's for a payload, in bytes (push-rules §1.3, §2.3).
    static let largestPayload = 4_096

    /// Why this notification cannot be sent to these platforms; nil if it can.
    ///
    /// FCM counts the keys and values of `data` before they are escaped, Apple the payload's JSON as it goes out. To be
    /// asked for every notification of an event before the first is written, where one that is too large stops them all.
    package mutating func problem(
        _ notification: Notification, in batch: borrowing EventBatch, platforms: PlatformSet
    ) -> DeadLetter? {
        if platforms.contains(.fcm) {
            var size = "default".utf8.count + notification.payloadSize
            if let type = notification.orderType {
                size += "order_type".utf8.count + type.text.utf8CodeUnitCount
                size += "order_id".utf8.count + notification.orderID.count
            }
            if size > Self.largestPayload {
                return Self.tooLarge(size, "the data of an FCM message")
            }
        }
        if platforms.contains(.apns) {
            apnsTail.removeAll()
            writeAPNsPayload(notification, batch)
            if apnsTail.count > Self.largestPayload {
                return Self.tooLarge(apnsTail.count, "the payload of an APNs message")
            }
        }
        return nil
    }

    private static func tooLarge(_ size: Int, _ what: StaticString) -> DeadLetter {
        DeadLetter(.payloadTooLarge, "\(what) has \(size) bytes, at most \(largestPayload) are allowed")
    }

    mutating func writeFCMTail(_ notification: Notification, _ batch: borrowing EventBatch, _ expiresAt: Int64) {
        fcmTail.removeAll()
        fcmTail.append(#"","data":{"default":""#)
        fcmTail.append(batch.bytes(notification.payload))
        fcmTail.append("\"")
        Self.appendDeepLink(of: notification, batch, to: &fcmTail)
        fcmTail.append(#"},"android":{"priority":""#)
        switch settings.androidPriority {
        case .high: fcmTail.append("high")
        case .normal: fcmTail.append("normal")
        }
        fcmTail.append(#"","ttl":""#)
        fcmTail.append(decimal: timeToLive)
        fcmTail.append(
            #"s"},"apns":{"headers":{"apns-push-type":"background","apns-priority":"5","apns-expiration":""#)
        fcmTail.append(decimal: expiresAt / 1_000)
        fcmTail.append(#""},"payload":{"aps":{"content-available":1}}}}}"#)
    }

    mutating func writeAPNsTail(_ notification: Notification, _ batch: borrowing EventBatch, _ expiresAt: Int64) {
        apnsTail.removeAll()
        apnsTail.append(#"","apns-push-type":"background","apns-priority":"5","apns-expiration":""#)
        apnsTail.append(decimal: expiresAt / 1_000)
        apnsTail.append(#"","apns-collapse-id":""#)
        apnsTail.append(batch.bytes(notification.messageID))
        apnsTail.append(#""},"payload":"#)
        writeAPNsPayload(notification, batch)
        apnsTail.append("}")
    }

    private mutating func writeAPNsPayload(_ notification: Notification, _ batch: borrowing EventBatch) {
        apnsTail.append(#"{"aps":{"content-available":1},"default":""#)
        apnsTail.append(batch.bytes(notification.payload))
        apnsTail.append("\"")
        Self.appendDeepLink(of: notification, batch, to: &apnsTail)
        apnsTail.append("}")
    }

    /// The two flat keys that the app's deep link needs, as strings, on both platforms (push-rules §5.5, §7).
    private static func appendDeepLink(
        of notification: Notification, _ batch: borrowing EventBatch, to body: inout ByteWriter
    ) {
        guard let type = notification.orderType else { return }
        body.append(#","order_type":""#)
        body.append(type.text)
        body.append(#"","order_id":""#)
        body.appendEscaped(batch.bytes(notification.orderID))
        body.append("\"")
    }
}

extension OrderType {
    /// As a message carries it.
    var text: StaticString {
        switch self {
        case .food: "food"
        case .d2d: "d2d"
        }
    }
}
