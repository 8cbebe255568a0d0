import Broadcasts
import KafkaClient
import Notifications

/// What sending a broadcast would do, or has done.
struct BroadcastPlan: Report {
    private struct Replaced: Encodable {
        var messageID: String?
        var writtenAt: WallTime?
    }

    var broadcast: BroadcastNotification
    /// The live broadcast with its id; nil if there is none.
    var replaced: BroadcastLog.Entry?
    /// Nil if the devices were not counted.
    var reach: BroadcastReach?
    var now: WallTime
    /// Its topic, once it is written.
    var topic: String?
    /// Its position there; nil if the broker did not report it.
    var position: RecordPosition?

    private enum CodingKeys: String, CodingKey {
        case id, messageID, audience, kind, publishedAt, expiresAt, languages, replaces, devices, devicesByPlatform
        case devicesByLanguage, stale, record
    }

    func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(broadcast.notificationID, forKey: .id)
        try members.encode(broadcast.messageID, forKey: .messageID)
        try members.encode(broadcast.audience, forKey: .audience)
        try members.encode(broadcast.kind, forKey: .kind)
        try members.encode(broadcast.publishedAt, forKey: .publishedAt)
        try members.encode(broadcast.expiresAt, forKey: .expiresAt)
        try members.encode(broadcast.languages, forKey: .languages)
        let replaces = replaced.map {
            Replaced(messageID: $0.broadcast?.messageID, writtenAt: $0.time)
        }
        try members.encodeIfPresent(replaces, forKey: .replaces)
        try members.encodeIfPresent(record, forKey: .record)
        guard let reach else { return }
        let platforms = Platform.allCases.map { ($0.rawValue, reach.count(platform: $0)) }
        let languages = broadcast.languages.map { ($0, reach.count(language: $0)) }
        try members.encode(reach.count, forKey: .devices)
        try members.encode(Dictionary(uniqueKeysWithValues: platforms), forKey: .devicesByPlatform)
        try members.encode(Dictionary(uniqueKeysWithValues: languages), forKey: .devicesByLanguage)
        try members.encode(reach.stale, forKey: .stale)
    }

    private var record: String? { topic.map { position?.description ?? $0 } }

    var rows: [Row] {
        if let record {
            return [
                .pair("broadcast", broadcast.notificationID), .pair("message", broadcast.messageID),
                .pair("record", record),
            ]
        }
        let left = ProgressLine.time(Double(broadcast.expiresAt - now) / 1_000)
        var rows: [Row] = [
            .pair("broadcast", "\(broadcast.notificationID) (\(broadcast.kind))"),
            .pair("message", broadcast.messageID), .pair("audience", broadcast.audience),
            .pair("published", "\(broadcast.publishedAt)"), .pair("expires", "\(broadcast.expiresAt), in \(left)"),
        ]
        if !broadcast.languages.isEmpty {
            rows.append(.pair("languages", broadcast.languages.joined(separator: ", ")))
        }
        if let replacement { rows.append(.pair("replaces", replacement)) }
        guard let reach else { return rows }
        rows.append(.pair("devices", Self.numbers(of: reach, language: nil)))
        rows += broadcast.languages.map { .pair("  \($0)", Self.numbers(of: reach, language: $0)) }
        if reach.stale > 0 {
            rows.append(.pair("stale", "\(ProgressLine.grouped(reach.stale)) more were last seen too long ago"))
        }
        return rows
    }

    /// Who sees a broadcast that replaces another: an app shows a message id once.
    private var replacement: String? {
        guard let replaced else { return nil }
        let name = replaced.time.map { "the one that was written at \($0.iso8601)" } ?? "an earlier one"
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
}
