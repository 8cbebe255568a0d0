/// The members of a broadcast. `type` and `data` are also members of the envelopes around it.
enum BroadcastMember: String, EnvelopedName {
    case actionType = "actiontype"
    case notificationType = "notificationtype"
    case notificationID = "notificationid"
    case expiry, type, channel, poster, fields, data, audience
    case publishedAt = "published_at"

    static let table = NameTable(Self.self, isInEnvelope: true)
    static let holder: StaticString = "the broadcast"
    static let path: StaticString = ""
    static let contentNames = [BroadcastMember.actionType, .notificationID]

    /// Those of a display broadcast, and those of a non-display one.
    static let display = allCases.filter { $0 != .data }
    static let nonDisplay = allCases.filter { $0 != .type && $0 != .poster && $0 != .fields }
}

typealias BroadcastMembers = RequestObject<BroadcastMember, 18>

/// A member of one language's text.
enum BroadcastTextMember: String, RequestMemberName {
    case language, title
    case message = "msg"

    static let table = NameTable(Self.self)
    static let holder: StaticString = "fields"
    static let path: StaticString = "fields."
}

typealias BroadcastTextMembers = RequestObject<BroadcastTextMember, 3>
