import NotificationPayload

/// What a broadcast says in the message for one device: the same for all devices of a language.
struct BroadcastMessage {
    let broadcast: BroadcastNotification
    /// The text that is shown; nil if the broadcast is not to be shown.
    let text: Broadcast.Text?
    let language: RenderSettings.BroadcastLanguage

    private var poster: String? {
        switch broadcast.content {
        case .display(let display): display.poster
        case .nonDisplay: nil
        }
    }

    /// FCM's `notification`, which Android shows too.
    private var notification: Broadcast.Text? {
        switch language {
        case .all: nil
        case .device: text
        }
    }

    /// What FCM counts of the text beside `data` (docs/rules.md §14.2). An alert for iOS alone counts like a
    /// notification: FCM sends both to APNs, whose limit is the same.
    var shownSize: Int {
        guard let text else { return 0 }
        return "title".utf8.count + text.title.utf8.count + "body".utf8.count + text.message.utf8.count + imageSize
    }

    private var imageSize: Int {
        guard notification != nil, let poster else { return 0 }
        return "image".utf8.count + poster.utf8.count
    }

    /// Writes what comes after the token of FCM's message.
    ///
    /// - Parameter data: the members of `data`.
    func writeFCM(_ data: UnsafeRawBufferPointer, to body: inout MessageBody) {
        body.removeAll()
        body.append("\"")
        if let notification {
            body.beginObject("notification")
            body.append("title", escaping: notification.title)
            body.append("body", escaping: notification.message)
            body.append("image", escaping: poster)
            body.endObject()
        }
        body.beginObject("data")
        body.append(data)
        body.endObject()
        body.beginObject("android")
        body.append("priority", string: text == nil ? "normal" : "high")
        body.append(name: "ttl")
        body.append("\"")
        body.append(decimal: FCMMessage.timeToLive(from: broadcast.publishedAt, until: broadcast.expiresAt))
        body.append("s\"")
        if notification != nil {
            body.beginObject("notification")
            body.append("tag", escaping: broadcast.messageID)
            body.endObject()
        }
        body.endObject()
        body.beginObject("apns")
        body.beginObject("headers")
        appendHeaders(to: &body)
        body.endObject()
        // FCM takes the texts of a notification itself.
        if notification == nil || poster != nil {
            body.beginObject("payload")
            appendAPS(to: &body, hasAlert: notification == nil)
            body.endObject()
        }
        if let poster {
            body.beginObject("fcm_options")
            body.append("image", escaping: poster)
            body.endObject()
        }
        body.append("}}}")
    }

    /// Writes what comes after the app of a request to APNs.
    ///
    /// - Parameter data: the members beside `aps`.
    /// - Returns: the size of its payload, in bytes.
    func writeAPNs(_ data: UnsafeRawBufferPointer, to body: inout MessageBody) -> Int {
        body.removeAll()
        body.append("\"")
        appendHeaders(to: &body)
        body.endObject()
        body.append(name: "payload")
        let start = body.endCount
        body.append("{")
        appendAPS(to: &body, hasAlert: true)
        body.append(",")
        body.append(data)
        body.endObject()
        let size = body.endCount - start
        body.endObject()
        return size
    }

    private func appendHeaders(to body: inout MessageBody) {
        body.append("apns-push-type", string: text == nil ? "background" : "alert")
        body.append("apns-priority", string: text == nil ? "5" : "10")
        body.append(name: "apns-expiration")
        body.append("\"")
        body.append(decimal: MessageBody.seconds(of: broadcast.expiresAt))
        body.append("\"")
        body.append("apns-collapse-id", escaping: broadcast.messageID)
    }

    private func appendAPS(to body: inout MessageBody, hasAlert: Bool) {
        body.beginObject("aps")
        if let text {
            if hasAlert {
                body.beginObject("alert")
                body.append("title", escaping: text.title)
                body.append("body", escaping: text.message)
                body.endObject()
            }
            if poster != nil { body.append("mutable-content", number: 1) }
        } else {
            body.append("content-available", number: 1)
        }
        body.endObject()
    }
}
