import JSONReader
import NotificationPayload
import Notifications
import Pipeline

/// A broadcast as it is written to `topic.broadcasts`: the document as it was given, with `published_at` where it had none.
package struct BroadcastDraft: Sendable {
    /// Why a broadcast is not sent.
    package enum Refusal: Error {
        /// It would be a dead letter: everything that is wrong with it.
        case deadLetter([RequestFinding])
        /// Nobody would get it.
        case expired(WallTime)
    }

    /// The `notificationid`, which is the record's key; empty where it is missing.
    package let key: String
    package let value: [UInt8]
    /// Whether the document says when it is published.
    package let isPublished: Bool

    /// - Parameters:
    ///   - id: the `notificationid` of a document without one.
    ///   - now: when it is published, unless the document says so.
    /// - Returns: nil if it is no broadcast's document.
    package init?(_ document: [UInt8], id: String? = nil, now: WallTime) {
        let blank = Array(" \t\r\n".utf8)
        var text = Array(document.reversed().drop { blank.contains($0) }.reversed())
        var reader = JSONReader()
        let found = text.withUnsafeBytes { bytes -> (key: String?, hasKey: Bool, isPublished: Bool)? in
            guard let value = try? reader.parse(bytes), value.isObject,
                value.member("actiontype") != nil || value.member("notificationid") != nil
            else { return nil }
            var arena = TextArena()
            let key = value.member("notificationid")
            return (
                arena.text(key).map { String(decoding: $0, as: UTF8.self) }, key != nil,
                Self.isPresent(value.member("published_at"))
            )
        }
        guard let found else { return nil }
        isPublished = found.isPublished
        key = found.key ?? (found.hasKey ? nil : id) ?? ""
        if !found.hasKey, let id { text = text.dropLast() + Self.lastMember("notificationid", id) }
        if !found.isPublished { text = text.dropLast() + Self.lastMember("published_at", now.iso8601) }
        value = text
    }

    /// The broadcast that `carillon broadcasts` would read.
    ///
    /// - Parameter findings: those of the reader.
    package func check(
        _ reader: inout BroadcastReader, _ findings: RequestFindings, now: WallTime
    ) throws(Refusal) -> BroadcastNotification {
        switch reader.content(BroadcastRecord(offset: 0, timestamp: now, key: Array(key.utf8), value: value)) {
        case .published(let broadcast):
            guard broadcast.expiresAt > now else { throw .expired(broadcast.expiresAt) }
            return broadcast
        case .failed(let letter):
            // A broadcast that is too large has been read without a finding.
            throw .deadLetter(findings.all.isEmpty ? [RequestFinding(letter)] : findings.all)
        }
    }

    /// What follows the other members of an object.
    private static func lastMember(_ name: StaticString, _ text: String) -> [UInt8] {
        var json = ByteWriter()
        json.append(",\"")
        json.append(name)
        json.append("\":\"")
        json.appendEscaped(text)
        json.append("\"}")
        return Array(json.bytes)
    }

    /// Null and a blank string are absent (docs/rules.md §14.1).
    private static func isPresent(_ value: JSONValue?) -> Bool {
        guard let value, !value.isNull else { return false }
        guard let text = value.string else { return true }
        return !text.bytes.trimmed.isEmpty
    }
}
