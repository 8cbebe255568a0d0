/// What FCM's message and APNs's have in common: FCM's `apns` is what it sends to iOS devices.
extension MessageBody {
    /// The headers for APNs (docs/rules.md §8.3 to §8.5), without the topic.
    mutating func appendHeaders(
        of request: RequestNotification, _ notification: Notification, _ batch: borrowing EventBatch,
        expiresAt: WallTime
    ) {
        append("apns-push-type", string: request.isSilent ? "background" : "alert")
        switch request.priority {
        case .high where !request.isSilent: append("apns-priority", string: "10")
        case .high, .normal: append("apns-priority", string: "5")
        }
        append(name: "apns-expiration")
        append("\"")
        append(decimal: Self.seconds(of: expiresAt))
        append("\"")
        append("apns-collapse-id", string: batch.bytes(request.collapseKey ?? notification.messageID))
    }

    /// The members of a visible message's `aps` (docs/rules.md §9, §10).
    mutating func appendAPS(
        of request: RequestNotification, _ batch: borrowing EventBatch, hasAlert: Bool, hasBadge: Bool
    ) {
        if hasAlert {
            beginObject("alert")
            append("title", string: request.title, of: batch)
            append("body", string: request.body, of: batch)
            append("title-loc-key", string: request.titleKey, of: batch)
            append("title-loc-args", json: request.titleArguments, of: batch)
            append("loc-key", string: request.bodyKey, of: batch)
            append("loc-args", json: request.bodyArguments, of: batch)
            endObject()
        }
        if hasBadge, let badge = request.badge { append("badge", number: Int64(badge)) }
        append("sound", string: request.sound, of: batch)
        append("thread-id", string: request.collapseKey, of: batch)
        append("category", string: request.category, of: batch)
        if request.image != nil { append("mutable-content", number: 1) }
    }

    /// Rounded down, also before 1970.
    static func seconds(of time: WallTime) -> Int64 {
        let (seconds, rest) = time.milliseconds.quotientAndRemainder(dividingBy: 1_000)
        return rest < 0 ? seconds - 1 : seconds
    }
}
