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
    /// Gets everything that is wrong with the broadcast that is read; nil: its first problem is enough.
    let findings: RequestFindings?

    package init(findings: RequestFindings? = nil) {
        self.findings = findings
    }

    /// Reads a record. Never traps, whatever the bytes.
    ///
    /// - Parameter headers: those of the record.
    package mutating func extract(_ record: EventRecord, headers: ArraySlice<EventHeader>) -> BroadcastOutcome {
        findings?.removeAll()
        do throws(RequestFinding) {
            guard let value = record.value else {
                guard let key = record.key, !key.isEmpty else { throw RequestFinding(.cancelledNothing) }
                return .cancelled(String(decoding: key, as: UTF8.self))
            }
            arena.truncate()
            return .published(try read(try members(of: value, headers: headers), of: record))
        } catch {
            return .deadLetter(findings.letter(error))
        }
    }

    private mutating func members(
        of value: UnsafeRawBufferPointer, headers: ArraySlice<EventHeader>
    ) throws(RequestFinding) -> BroadcastMembers {
        var attributes = RecordHeaders(headers)
        do throws(DeadLetter) {
            return try envelopes.body(of: value, attributes: &attributes, texts: &arena) { BroadcastMembers($0) }
        } catch {
            throw RequestFinding(error)
        }
    }

    /// Checks everything in this order: the first problem is the dead letter's. What depends on a member that is refused
    /// is not checked: without its `actiontype` nothing is known of a broadcast.
    private mutating func read(
        _ members: BroadcastMembers, of record: EventRecord
    ) throws(RequestFinding) -> BroadcastNotification {
        let isDisplay = try isDisplay(members)
        try refuseOthers(of: members, isDisplay: isDisplay)
        let id = try id(of: members, record)
        let (audience, channel) = try audience(of: members)
        let given = try findings.attempt(try members.time(.publishedAt))
        let publishedAt = given ?? record.clampedTime
        let isPublicationKnown = given != nil || members.present(.publishedAt) == nil
        let expiry = try expiry(of: members, publishedAt: isPublicationKnown ? publishedAt : nil)
        var unknownKinds = 0
        let content: BroadcastNotification.Content =
            if isDisplay {
                .display(try display(members, &unknownKinds))
            } else {
                .nonDisplay(try nonDisplay(members))
            }
        try findings.end()
        notes.unknownTypes += unknownKinds
        return BroadcastNotification(
            notificationID: String(decoding: id, as: UTF8.self),
            messageID: messageID(id, publishedAt, isDisplay: isDisplay), audience: audience, channel: channel,
            publishedAt: publishedAt, expiry: expiry, content: content)
    }

    private func isDisplay(_ members: BroadcastMembers) throws(RequestFinding) -> Bool {
        let text = members.present(.actionType)?.string
        if let text, text == "display" { return true }
        if let text, text == "non-display" { return false }
        throw members.wrong(.actionType, .actionType)
    }

    /// The broadcast's id, which is also the key of its record.
    private mutating func id(
        of members: BroadcastMembers, _ record: EventRecord
    ) throws(RequestFinding) -> UnsafeRawBufferPointer {
        guard let id = arena.text(members.present(.notificationID)) else {
            try findings.refuse(members.wrong(.notificationID, .text))
            return UnsafeRawBufferPointer(start: nil, count: 0)
        }
        if record.key.map({ sameBytes($0, id) }) != true {
            try findings.refuse(
                RequestFinding(.keyOfBroadcast(record.key, id: id), at: BroadcastMembers.pointer(.notificationID)))
        }
        return id
    }

    private func refuseOthers(of members: BroadcastMembers, isDisplay: Bool) throws(RequestFinding) {
        let allowed = isDisplay ? BroadcastMember.display : BroadcastMember.nonDisplay
        let names = allowed.map(\.rawValue)
        let holder = isDisplay ? "a display broadcast" : "a non-display broadcast"
        try members.refuseUnknownMembers(findings, of: holder, at: "", allowed: names)
        for other in BroadcastMember.allCases where members[other] != nil && !allowed.contains(other) {
            var name = other.rawValue
            let letter = name.withUTF8 {
                DeadLetter.unknownMember(UnsafeRawBufferPointer($0), of: holder, allowed: names)
            }
            try findings.refuse(RequestFinding(letter, at: BroadcastMembers.pointer(other)))
        }
    }

    /// Exactly one channel: `audience`, otherwise `channel/` and the document's `channel`, otherwise everybody's.
    private func audience(
        of members: BroadcastMembers
    ) throws(RequestFinding) -> (audience: String, channel: String?) {
        let channel = try findings.attempt(try members.string(.channel)).map { String(decoding: $0, as: UTF8.self) }
        guard let value = members.present(.audience) else {
            guard let channel else { return (BroadcastAudience.general, nil) }
            let audience = "\(Audience.channel.prefix)\(channel)"
            if !BroadcastAudience.isChannel(audience) { try findings.refuse(members.wrong(.channel, .channelID)) }
            return (audience, channel)
        }
        let audience = value.string.map { String($0) } ?? ""
        if members.present(.channel) != nil {
            try findings.refuse(
                RequestFinding(.bothThere("audience", "channel"), at: BroadcastMembers.pointer(.audience)))
        } else if !BroadcastAudience.isChannel(audience) {
            try findings.refuse(members.wrong(.audience, .channel))
        }
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
