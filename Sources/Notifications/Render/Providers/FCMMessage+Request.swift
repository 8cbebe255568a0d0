extension FCMMessage {
    mutating func begin(
        _ request: RequestNotification, of notification: Notification, _ batch: borrowing EventBatch
    ) -> DeadLetter? {
        let size = request.dataSize + (request.isSilent ? 0 : request.notificationSize)
        if let problem = Self.problem(ofSize: size, Self.measuredShown) { return problem }
        body.removeAll()
        body.append("\"")
        if !request.isSilent { appendShown(request, batch) }
        body.beginObject("data")
        body.append(batch.bytes(request.data))
        body.endObject()
        appendAndroid(request, notification, batch)
        appendAPNs(request, notification, batch)
        body.append("}}")
        return nil
    }

    /// FCM's `notification`, which it shows on all platforms; left out if there is nothing in it.
    private mutating func appendShown(_ request: RequestNotification, _ batch: borrowing EventBatch) {
        guard request.title != nil || request.body != nil || request.image != nil else { return }
        body.beginObject("notification")
        body.append("title", string: request.title, of: batch)
        body.append("body", string: request.body, of: batch)
        body.append("image", string: request.image, of: batch)
        body.endObject()
    }

    private mutating func appendAndroid(
        _ request: RequestNotification, _ notification: Notification, _ batch: borrowing EventBatch
    ) {
        body.beginObject("android")
        body.append("collapse_key", string: request.collapseKey, of: batch)
        switch request.priority {
        case .high: body.append("priority", string: "high")
        case .normal: body.append("priority", string: "normal")
        }
        body.append(name: "ttl")
        body.append("\"")
        body.append(decimal: Self.timeToLive(from: notification.eventTime, until: request.fcmExpiresAt))
        body.append("s\"")
        if !request.isSilent {
            body.beginObject("notification")
            body.append("icon", string: request.icon, of: batch)
            body.append("sound", string: request.sound, of: batch)
            body.append(
                "tag", string: batch.bytes(request.category ?? request.collapseKey ?? notification.messageID))
            body.append("click_action", string: request.clickAction, of: batch)
            body.append("title_loc_key", string: request.titleKey, of: batch)
            body.append("title_loc_args", json: request.titleArguments, of: batch)
            body.append("body_loc_key", string: request.bodyKey, of: batch)
            body.append("body_loc_args", json: request.bodyArguments, of: batch)
            if sendsNotificationCount, let badge = request.badge {
                body.append("notification_count", number: Int64(badge))
            }
            body.endObject()
        }
        body.endObject()
    }

    /// What FCM sends to APNs. It takes title and body from `notification`: an alert is needed only for the texts that
    /// the app itself has (docs/rules.md §10).
    private mutating func appendAPNs(
        _ request: RequestNotification, _ notification: Notification, _ batch: borrowing EventBatch
    ) {
        body.beginObject("apns")
        body.beginObject("headers")
        body.appendHeaders(of: request, notification, batch, expiresAt: request.fcmExpiresAt)
        body.endObject()
        if request.isSilent {
            body.append(#","payload":{"aps":{"content-available":1}}"#)
        } else {
            let hasAlert = request.titleKey != nil || request.bodyKey != nil
            let hasBadge = sendsNotificationCount && request.badge != nil
            if hasAlert || hasBadge || request.sound != nil || request.collapseKey != nil || request.category != nil
                || request.image != nil
            {
                body.append(#","payload":{"aps":{"#)
                body.appendAPS(of: request, batch, hasAlert: hasAlert, hasBadge: hasBadge)
                body.append("}}")
            }
            if let image = request.image {
                body.beginObject("fcm_options")
                body.append("image", string: batch.bytes(image))
                body.endObject()
            }
        }
        body.endObject()
    }

    /// Whole seconds, rounded down (docs/rules.md §8.3).
    static func timeToLive(from time: WallTime, until expiry: WallTime) -> Int64 {
        min(max((expiry - time) / 1_000, 0), 2_419_200)
    }
}
