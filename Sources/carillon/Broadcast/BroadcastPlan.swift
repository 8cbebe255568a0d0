import Events
import Subscriptions

/// What sending a broadcast would do, for a person, and as JSON.
struct BroadcastPlan {
    var broadcast: BroadcastNotification
    /// The live broadcast with its id; nil if there is none.
    var replaced: BroadcastLog.Entry?
    /// Nil if the devices were not counted.
    var reach: BroadcastReach?
    /// In milliseconds since 1970.
    var now: Int64

    var text: String {
        let expiry = broadcast.expiresAt.milliseconds
        var rows = [
            ("broadcast", "\(broadcast.notificationID) (\(broadcast.kind))"), ("message", broadcast.messageID),
            ("audience", broadcast.audience), ("published", TimeText.iso8601(broadcast.publishedAt.milliseconds)),
            ("expires", "\(TimeText.iso8601(expiry)), in \(ProgressLine.time(Double(expiry - now) / 1_000))"),
        ]
        if !broadcast.languages.isEmpty { rows.append(("languages", broadcast.languages.joined(separator: ", "))) }
        if let replacement { rows.append(("replaces", replacement)) }
        if let reach {
            rows.append(("devices", Self.numbers(of: reach, language: nil)))
            rows += broadcast.languages.map { ("  \($0)", Self.numbers(of: reach, language: $0)) }
            if reach.stale > 0 {
                rows.append(("stale", "\(ProgressLine.grouped(reach.stale)) more were last seen too long ago"))
            }
        }
        return TextRows.text(rows)
    }

    /// Who sees a broadcast that replaces another: an app shows a message id once.
    private var replacement: String? {
        guard let replaced else { return nil }
        let name = replaced.time.map { "the one that was written at \(TimeText.iso8601($0))" } ?? "an earlier one"
        guard let old = replaced.broadcast else { return "\(name), which could not be sent" }
        return old.messageID == broadcast.messageID
            ? "\(name); the same message id: it is sent again, and not shown again where it was"
            : "\(name); another message id: it is shown again to those who have that one"
    }

    /// `1,312: 1,300 fcm, 12 apns`.
    private static func numbers(of reach: BroadcastReach, language: String?) -> String {
        let parts = Platform.allCases.compactMap { platform in
            let count = reach.count(platform: platform, language: language)
            return count > 0 ? "\(ProgressLine.grouped(count)) \(platform.rawValue)" : nil
        }
        let total = ProgressLine.grouped(reach.count(language: language))
        return parts.isEmpty ? total : "\(total): \(parts.joined(separator: ", "))"
    }

    // MARK: JSON

    struct Document: Encodable {
        struct Replaced: Encodable {
            var messageID: String?
            var writtenAt: String?
        }

        var id: String
        var messageID: String
        var audience: String
        var kind: String
        var publishedAt: String
        var expiresAt: String
        var languages: [String]
        var replaces: Replaced?
        /// Absent if they were not counted, as the two below.
        var devices: Int?
        var devicesByPlatform: [String: Int]?
        var devicesByLanguage: [String: Int]?
        var stale: Int?
        /// Absent if nothing was written.
        var record: String?
    }

    /// - Parameter record: where it was written.
    func document(record: String?) -> Document {
        var document = Document(
            id: broadcast.notificationID, messageID: broadcast.messageID, audience: broadcast.audience,
            kind: broadcast.kind, publishedAt: TimeText.iso8601(broadcast.publishedAt.milliseconds),
            expiresAt: TimeText.iso8601(broadcast.expiresAt.milliseconds), languages: broadcast.languages,
            replaces: replaced.map {
                .init(messageID: $0.broadcast?.messageID, writtenAt: $0.time.map(TimeText.iso8601))
            }, record: record)
        guard let reach else { return document }
        document.devices = reach.count
        document.devicesByPlatform = Dictionary(
            uniqueKeysWithValues: Platform.allCases.map { ($0.rawValue, reach.count(platform: $0)) })
        document.devicesByLanguage = Dictionary(
            uniqueKeysWithValues: broadcast.languages.map { ($0, reach.count(language: $0)) })
        document.stale = reach.stale
        return document
    }
}

/// Names and values, one a line, the values aligned.
enum TextRows {
    static func text(_ rows: [(name: String, value: String)]) -> String {
        let width = (rows.map(\.name.count).max() ?? 0) + 2
        return rows.map { name, value in
            name + String(repeating: " ", count: width - name.count) + value + "\n"
        }.joined()
    }
}
