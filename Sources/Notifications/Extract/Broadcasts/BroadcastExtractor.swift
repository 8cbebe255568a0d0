import JSONReader
import NotificationPayload

/// Turns a record of `notifications.broadcasts` into a broadcast, by docs/rules.md §14.
///
/// Pure: the same record gives the same value; time comes from the record. One owner, any thread.
package struct BroadcastExtractor: ~Copyable {
    /// The oddities since the owner last reset them.
    package var notes = BroadcastNotes()

    private var envelopes = EnvelopeReader()
    private var identity = MessageIdentity()
    var arena = TextArena()

    package init() {}

    /// Reads a record. Never traps, whatever the bytes.
    ///
    /// - Parameter headers: those of the record.
    package mutating func extract(_ record: EventRecord, headers: ArraySlice<EventHeader>) -> BroadcastOutcome {
        do throws(DeadLetter) {
            guard let value = record.value else {
                guard let key = record.key, !key.isEmpty else { throw .cancelledNothing }
                return .cancelled(String(decoding: key, as: UTF8.self))
            }
            arena.truncate()
            var attributes = RecordHeaders(headers)
            let members = try envelopes.body(of: value, attributes: &attributes, texts: &arena) { BroadcastMembers($0) }
            return .published(try read(members, of: record))
        } catch {
            return .deadLetter(error)
        }
    }

    /// Checks everything in this order: the first problem is the dead letter's.
    private mutating func read(
        _ members: BroadcastMembers, of record: EventRecord
    ) throws(DeadLetter) -> BroadcastNotification {
        let isDisplay = try isDisplay(members)
        try refuseOthers(of: members, isDisplay: isDisplay)
        guard let id = arena.text(members.present(.notificationID)) else { throw members.wrong(.notificationID, .text) }
        guard let key = record.key, sameBytes(key, id) else { throw .keyOfBroadcast(record.key, id: id) }
        let (audience, channel) = try audience(of: members)
        let publishedAt = try members.time(.publishedAt) ?? record.clampedTime
        let expiry = try expiry(of: members, publishedAt: publishedAt)
        var unknownKinds = 0
        let content: BroadcastNotification.Content =
            if isDisplay {
                .display(try display(members, &unknownKinds))
            } else {
                .nonDisplay(try nonDisplay(members))
            }
        notes.unknownTypes += unknownKinds
        return BroadcastNotification(
            notificationID: String(decoding: id, as: UTF8.self),
            messageID: messageID(id, publishedAt, isDisplay: isDisplay), audience: audience, channel: channel,
            publishedAt: publishedAt, expiry: expiry, content: content)
    }

    private func isDisplay(_ members: BroadcastMembers) throws(DeadLetter) -> Bool {
        let text = members.present(.actionType)?.string
        if let text, text == "display" { return true }
        if let text, text == "non-display" { return false }
        throw members.wrong(.actionType, .actionType)
    }

    private func refuseOthers(of members: BroadcastMembers, isDisplay: Bool) throws(DeadLetter) {
        let allowed = isDisplay ? BroadcastMember.display : BroadcastMember.nonDisplay
        let other = BroadcastMember.allCases.first { members[$0] != nil && !allowed.contains($0) }
        guard var name = members.unknown.map({ String($0) }) ?? other?.rawValue else { return }
        throw name.withUTF8 { name in
            DeadLetter.unknownMember(
                UnsafeRawBufferPointer(name), of: isDisplay ? "a display broadcast" : "a non-display broadcast",
                allowed: allowed.map(\.rawValue))
        }
    }

    /// Exactly one channel: `audience`, otherwise `channel/` and the document's `channel`, otherwise everybody's.
    private func audience(
        of members: BroadcastMembers
    ) throws(DeadLetter) -> (audience: String, channel: String?) {
        let channel = try members.string(.channel).map { String(decoding: $0, as: UTF8.self) }
        guard let value = members.present(.audience) else {
            guard let channel else { return (BroadcastAudience.general, nil) }
            let audience = "\(Audience.channel.prefix)\(channel)"
            guard BroadcastAudience.isChannel(audience) else { throw members.wrong(.channel, .channelID) }
            return (audience, channel)
        }
        guard channel == nil else { throw .bothThere("audience", "channel") }
        guard let text = value.string?.bytes else { throw members.wrong(.audience, .channel) }
        let audience = String(decoding: text, as: UTF8.self)
        guard BroadcastAudience.isChannel(audience) else { throw members.wrong(.audience, .channel) }
        return (audience, nil)
    }

    /// The id of a broadcast that is published again at the same time is the same (docs/rules.md §6).
    private mutating func messageID(_ id: UnsafeRawBufferPointer, _ publishedAt: WallTime, isDisplay: Bool) -> String {
        identity.begin(tag: "broadcast")
        identity.append(id)
        identity.append(publishedAt.milliseconds)
        identity.end(type: UnsafeRawBufferPointer(isDisplay ? "display" : "non-display" as StaticString))
        let none = UnsafeRawBufferPointer(start: nil, count: 0)
        let text = arena.make { identity.write(orderID: none, eventTime: publishedAt, to: $0) }
        return String(decoding: text, as: UTF8.self)
    }
}

/// Irregularities of broadcasts that are not dead letters (docs/rules.md §14.1).
package struct BroadcastNotes: Equatable, Sendable {
    /// Display broadcasts whose `notificationtype` document 4 does not list; they are sent as `others`.
    package var unknownTypes = 0
}

enum BroadcastAudience {
    /// The channel of a broadcast that names none (document 4: "by default registered to one topic").
    static let general = "channel/General"

    static func isChannel(_ audience: String) -> Bool {
        var audience = audience
        return audience.withUTF8 { Audience(of: UnsafeRawBufferPointer($0)) == .channel }
    }
}
