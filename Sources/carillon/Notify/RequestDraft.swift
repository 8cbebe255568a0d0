import NotificationPayload
import Notifications
import Pipeline

/// A request as it is written to the topic of requests: its members in the order of docs/rules.md §8.1.
///
/// What it holds is not checked here: ``RequestTrial`` does, by the pipeline's own rules.
struct RequestDraft: Sendable {
    enum Content: Sendable {
        /// Document 2's object.
        case app(type: String, title: String?, body: String?, imageURL: String?, data: [(key: String, value: String)])
        /// Document 5's object, as JSON.
        case message([UInt8])
    }

    var id: String
    /// Nil leaves the time to the record, so that the same id always gives the same message id (docs/rules.md §6).
    var requestedAt: WallTime?
    var audiences: [String]
    /// A time as docs/rules.md §8.1 accepts it.
    var expiresAt: String?
    var collapseKey: String?
    var priority: RequestPriority?
    var content: Content

    /// The record's key: it keeps the requests of an audience in order.
    var key: String { audiences.first ?? "" }

    /// The record's value.
    func encoded() -> [UInt8] {
        var json = ByteWriter()
        json.append("{")
        json.append(member: "request_id", id)
        if let requestedAt { json.append(member: "requested_at", requestedAt.iso8601) }
        if audiences.count == 1 {
            json.append(member: "audience", key)
        } else {
            json.append(name: "audience")
            json.append("[")
            for (index, audience) in audiences.enumerated() {
                if index > 0 { json.append(",") }
                json.append(quoted: audience)
            }
            json.append("]")
        }
        json.append(member: "expires_at", expiresAt)
        json.append(member: "collapse_key", collapseKey)
        json.append(member: "priority", priority?.rawValue)
        switch content {
        case .app(let type, let title, let body, let imageURL, let data):
            json.append(name: "app")
            json.append("{")
            json.append(member: "title", title)
            json.append(member: "body", body)
            json.append(member: "imageUrl", imageURL)
            json.append(name: "data")
            json.append("{")
            json.append(member: "type", type)
            for (key, value) in data { json.append(member: key, value) }
            json.append("}}")
        case .message(let message):
            json.append(name: "message")
            message.withUnsafeBytes { json.append($0) }
        }
        json.append("}")
        return Array(json.bytes)
    }
}

extension ByteWriter {
    /// A member of an object; nothing for nil.
    fileprivate mutating func append(member name: String, _ value: String?) {
        guard let value else { return }
        append(name: name)
        append(quoted: value)
    }

    /// A comma unless the object begins here, the name and a colon.
    fileprivate mutating func append(name: String) {
        if bytes.last != UInt8(ascii: "{") { append(",") }
        append(quoted: name)
        append(":")
    }

    fileprivate mutating func append(quoted text: String) {
        append("\"")
        var text = text
        text.withUTF8 { appendEscaped(UnsafeRawBufferPointer($0)) }
        append("\"")
    }
}
