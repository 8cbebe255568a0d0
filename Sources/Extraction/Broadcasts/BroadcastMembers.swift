import Events
import JSONReader

/// The members of a broadcast, and those of the envelopes around it: `type` and `data` are both.
enum BroadcastMember: Int, EnvelopeMemberName {
    case actionType, notificationType, notificationID, expiry, type, channel, poster, fields, data, audience
    case publishedAt
    case specVersion, id, source, time, dataBase64, schema, payload

    static let table = NameTable(allCases.map(\.name))
    static let ownCount = 11
    static let holder: StaticString = "the broadcast"
    static let path: StaticString = ""

    var name: StaticString {
        switch self {
        case .actionType: "actiontype"
        case .notificationType: "notificationtype"
        case .notificationID: "notificationid"
        case .expiry: "expiry"
        case .type: "type"
        case .channel: "channel"
        case .poster: "poster"
        case .fields: "fields"
        case .data: "data"
        case .audience: "audience"
        case .publishedAt: "published_at"
        case .specVersion: "specversion"
        case .id: "id"
        case .source: "source"
        case .time: "time"
        case .dataBase64: "data_base64"
        case .schema: "schema"
        case .payload: "payload"
        }
    }

    static let contentNames = [BroadcastMember.actionType, .notificationID]

    static func name(of member: EnvelopeMember) -> BroadcastMember {
        switch member {
        case .specVersion: .specVersion
        case .id: .id
        case .source: .source
        case .type: .type
        case .time: .time
        case .data: .data
        case .dataBase64: .dataBase64
        case .schema: .schema
        case .payload: .payload
        }
    }

    /// Those of a display broadcast, and those of a non-display one.
    static let display: [BroadcastMember] = allCases.prefix(ownCount).filter { $0 != .data }
    static let nonDisplay: [BroadcastMember] = allCases.prefix(ownCount).filter { member in
        member != .type && member != .poster && member != .fields
    }
}

typealias BroadcastMembers = RequestObject<BroadcastMember, 18>

/// A member of one language's text.
enum BroadcastTextMember: Int, RequestMemberName {
    case language, title, message

    static let table = NameTable(allCases.map(\.name))
    static let ownCount = 3
    static let holder: StaticString = "fields"
    static let path: StaticString = "fields."

    var name: StaticString {
        switch self {
        case .language: "language"
        case .title: "title"
        case .message: "msg"
        }
    }
}

typealias BroadcastTextMembers = RequestObject<BroadcastTextMember, 3>
