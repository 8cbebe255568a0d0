import NotificationPayload

/// The members of a broadcast's `data`, the same for FCM and beside `aps`: strings alone (docs/rules.md §14.2).
///
/// One owner; the memory is reused.
struct BroadcastData: ~Copyable {
    /// What a language adds, in bytes.
    struct LanguageSize {
        /// Its entry of `fields`, and the same as it is escaped within a message.
        let entry: Int
        let escapedEntry: Int
        /// Title and message, and the same as they are escaped in an alert.
        let text: Int
        let escapedText: Int
    }

    /// The members that were written: `"k":"v","message_id":"…"`.
    private(set) var members = ByteWriter(capacity: 8_192)
    /// The bytes of their keys and values, before they are escaped.
    private(set) var size = 0
    private var fields = ByteWriter(capacity: 4_096)

    /// Writes the members, with these texts of a display broadcast.
    mutating func write(_ broadcast: BroadcastNotification, texts: ArraySlice<Broadcast.Text>) {
        members.removeAll()
        size = 0
        switch broadcast.content {
        case .display(let display):
            append("actiontype", "display")
            append("notificationtype", display.kind.rawValue)
            appendShared(broadcast)
            append("type", display.isCancellable ? "cancellable" : "non-cancellable")
            append("channel", broadcast.channel)
            append("poster", display.poster)
            append("fields", texts)
        case .nonDisplay(let nonDisplay):
            append("actiontype", "non-display")
            append("notificationtype", nonDisplay.kind.rawValue)
            appendShared(broadcast)
            append("channel", broadcast.channel)
            append("data", nonDisplay.data)
        }
        append("published_at", String(broadcast.publishedAt.milliseconds))
        append("message_id", broadcast.messageID)
        // Without the last comma.
        members.truncate(to: members.count - 1)
    }

    mutating func size(of text: Broadcast.Text) -> LanguageSize {
        fields.removeAll()
        fields.append(entry: text)
        let entry = fields.count
        let escapedEntry = fields.countOfEscaped(from: 0)
        fields.removeAll()
        fields.appendEscaped(text.title)
        fields.appendEscaped(text.message)
        return LanguageSize(
            entry: entry, escapedEntry: escapedEntry, text: text.title.utf8.count + text.message.utf8.count,
            escapedText: fields.count)
    }

    private mutating func appendShared(_ broadcast: BroadcastNotification) {
        append("notificationid", broadcast.notificationID)
        append("expiry", broadcast.expiry.text)
    }

    private mutating func append(_ name: StaticString, _ value: String?) {
        guard var value else { return }
        value.withUTF8 { append(name, UnsafeRawBufferPointer($0)) }
    }

    private mutating func append(_ name: StaticString, _ texts: ArraySlice<Broadcast.Text>) {
        fields.removeAll()
        fields.append("[" as StaticString)
        for (index, text) in texts.enumerated() {
            if index > 0 { fields.append("," as StaticString) }
            fields.append(entry: text)
        }
        fields.append("]" as StaticString)
        append(name, fields.bytes)
    }

    private mutating func append(_ name: StaticString, _ value: UnsafeRawBufferPointer) {
        members.append("\"" as StaticString)
        members.append(name)
        members.append("\":\"" as StaticString)
        members.appendEscaped(value)
        members.append("\"," as StaticString)
        size += name.utf8CodeUnitCount + value.count
    }
}

extension ByteWriter {
    /// One language's text, as document 4 has it in `fields`.
    fileprivate mutating func append(entry text: Broadcast.Text) {
        append(#"{"language":""# as StaticString)
        appendEscaped(text.language)
        append(#"","title":""# as StaticString)
        appendEscaped(text.title)
        append(#"","msg":""# as StaticString)
        appendEscaped(text.message)
        append(#""}"# as StaticString)
    }

    /// The size of what is written from `start` on, escaped once more.
    fileprivate func countOfEscaped(from start: Int) -> Int {
        var escaped = ByteWriter(capacity: count - start)
        escaped.appendEscaped(UnsafeRawBufferPointer(rebasing: bytes[start...]))
        return escaped.count
    }
}
