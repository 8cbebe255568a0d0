import Digests
import JSONReader

extension RequestExtractor {
    /// Appends the notification of a request, what it says, its audiences and their texts.
    mutating func append(_ request: Request, to batch: inout EventBatch) {
        let content = request.content
        batch.records[request.record].traceparent = request.traceparent
        let messageID = batch.append(request.messageID)
        let firstAudience = batch.audiences.count
        for audience in audiences.texts {
            batch.audiences.append(batch.append(audience))
        }
        var notification = RequestNotification(
            audiences: firstAudience..<batch.audiences.count, expiresAt: request.expiresAt,
            fcmExpiresAt: request.fcmExpiresAt, data: .empty, custom: .empty)
        notification.id = request.id.map { batch.append(requestID: $0) }
        notification.isSilent = content.isSilent
        notification.priority = request.priority
        notification.collapseKey = request.collapseKey.map { batch.append(collapseKey: $0) }
        if !content.isSilent {
            appendShown(content, of: &notification, to: &batch)
        }
        appendCustom(of: &notification, request, to: &batch)
        batch.requests.append(notification)
        batch.notifications.append(
            Notification(
                record: request.record, eventTime: request.eventTime, messageID: messageID, payload: .empty,
                payloadSize: 0, kind: .request(request.kind, index: batch.requests.count - 1)))
    }

    /// What a silent message leaves out (docs/rules.md §10).
    private func appendShown(
        _ content: RequestContent, of notification: inout RequestNotification, to batch: inout EventBatch
    ) {
        notification.title = batch.append(escaped: content.title)
        notification.body = batch.append(escaped: content.body)
        notification.image = batch.append(escaped: content.image)
        notification.titleKey = batch.append(escaped: content.titleKey)
        notification.titleArguments = batch.append(json: content.titleArguments)
        notification.bodyKey = batch.append(escaped: content.bodyKey)
        notification.bodyArguments = batch.append(json: content.bodyArguments)
        notification.badge = content.badge
        notification.sound = batch.append(escaped: content.sound)
        notification.icon = batch.append(escaped: content.icon)
        notification.category = batch.append(escaped: content.category)
        // The names of FCM's members, and what they hold (docs/rules.md §1.3).
        notification.notificationSize =
            (content.title.map { "title".utf8.count + $0.count } ?? 0)
            + (content.body.map { "body".utf8.count + $0.count } ?? 0)
            + (content.image.map { "image".utf8.count + $0.count } ?? 0)
    }

    /// The members of FCM's data, and those beside `aps`.
    private mutating func appendCustom(
        of notification: inout RequestNotification, _ request: Request, to batch: inout EventBatch
    ) {
        let start = batch.text.count
        var clickAction: TextRange?
        let position = request.kind == .app ? custom.position(of: "click_action") : nil
        notification.dataSize = custom.writeStrings(to: &batch.text, marked: position) { clickAction = $0 }
        notification.dataSize += "message_id".utf8.count + request.messageID.count
        if let clickAction, !clickAction.isEmpty {
            notification.clickAction = clickAction
        }
        let memberCount = batch.text.count - start
        batch.append(messageID: request.messageID)
        notification.data = TextRange(start: start, count: batch.text.count - start)

        let customStart = batch.text.count
        switch request.kind {
        case .app:
            // The same strings; only the image is on one platform alone.
            guard let image = notification.image else {
                notification.custom = notification.data
                return
            }
            batch.repeatText(TextRange(start: start, count: memberCount))
            batch.text.append("\"imageUrl\":\"" as StaticString)
            batch.repeatText(image)
            batch.text.append("\"," as StaticString)
        case .message:
            custom.writeValues(to: &batch.text)
        }
        batch.append(messageID: request.messageID)
        notification.custom = TextRange(start: customStart, count: batch.text.count - customStart)
    }
}

extension EventBatch {
    fileprivate mutating func append(escaped text: UnsafeRawBufferPointer?) -> TextRange? {
        guard let text else { return nil }
        let start = self.text.count
        self.text.appendEscaped(text)
        return TextRange(start: start, count: self.text.count - start)
    }

    fileprivate mutating func append(json value: JSONValue?) -> TextRange? {
        guard let value else { return nil }
        let start = text.count
        text.append(json: value)
        return TextRange(start: start, count: text.count - start)
    }

    /// A key that no header can hold is replaced by its hash (docs/rules.md §8.5).
    fileprivate mutating func append(collapseKey key: UnsafeRawBufferPointer) -> TextRange {
        guard CollapseKey.isSafe(key) else { return append(hashOf: key) }
        let start = text.count
        text.appendEscaped(key)
        return TextRange(start: start, count: text.count - start)
    }

    /// An id that is too long for a header is replaced by its hash (docs/rules.md §8.1).
    fileprivate mutating func append(requestID id: UnsafeRawBufferPointer) -> TextRange {
        RequestID.isPlain(id) ? append(id) : append(hashOf: id)
    }

    private mutating func append(hashOf text: UnsafeRawBufferPointer) -> TextRange {
        let start = self.text.count
        let digits = 64
        self.text.append(upTo: digits) { end in
            SHA256.withHash(of: text) { Hex.write($0, to: end) }
            return end + digits
        }
        return TextRange(start: start, count: self.text.count - start)
    }

    /// The last member of the data and of an APNs payload.
    fileprivate mutating func append(messageID: UnsafeRawBufferPointer) {
        text.append("\"message_id\":\"" as StaticString)
        text.append(messageID)
        text.append(UInt8(ascii: "\""))
    }

    /// Appends a part of the text again.
    fileprivate mutating func repeatText(_ range: TextRange) {
        // With room for it the memory stays where it is while it is read.
        text.reserve(range.count)
        text.append(bytes(range))
    }
}
