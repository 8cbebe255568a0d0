import JSONReader

/// The members of a request, and those of the envelopes around it.
enum RequestMember: Int, EnvelopeMemberName {
    case requestID, requestedAt, audience, expiresAt, collapseKey, priority, app, message
    case specVersion, id, source, type, time, data, dataBase64, schema, payload

    static let table = NameTable(allCases.map(\.name))
    static let ownCount = 8
    static let holder: StaticString = "the request"
    static let path: StaticString = ""

    var name: StaticString {
        switch self {
        case .requestID: "request_id"
        case .requestedAt: "requested_at"
        case .audience: "audience"
        case .expiresAt: "expires_at"
        case .collapseKey: "collapse_key"
        case .priority: "priority"
        case .app: "app"
        case .message: "message"
        case .specVersion: "specversion"
        case .id: "id"
        case .source: "source"
        case .type: "type"
        case .time: "time"
        case .data: "data"
        case .dataBase64: "data_base64"
        case .schema: "schema"
        case .payload: "payload"
        }
    }

    static let contentNames = [RequestMember.audience, .app, .message]

    static func name(of member: EnvelopeMember) -> RequestMember {
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
}

/// The members of document 2's object.
enum AppMember: Int, RequestMemberName {
    case title, body, imageURL, data

    static let table = NameTable(allCases.map(\.name))
    static let ownCount = 4
    static let holder: StaticString = "app"
    static let path: StaticString = "app."

    var name: StaticString {
        switch self {
        case .title: "title"
        case .body: "body"
        case .imageURL: "imageUrl"
        case .data: "data"
        }
    }
}

/// The members of document 5's object.
enum MessageMember: Int, RequestMemberName {
    case title, body, titleKey, titleArguments, bodyKey, bodyArguments, badge, sound, icon, category, collapseKey
    case validUntil, extras, silent

    static let table = NameTable(allCases.map(\.name))
    static let ownCount = 14
    static let holder: StaticString = "message"
    static let path: StaticString = "message."

    var name: StaticString {
        switch self {
        case .title: "title"
        case .body: "body"
        case .titleKey: "titleLocKey"
        case .titleArguments: "titleLocArgs"
        case .bodyKey: "bodyLocKey"
        case .bodyArguments: "bodyLocArgs"
        case .badge: "badge"
        case .sound: "sound"
        case .icon: "icon"
        case .category: "category"
        case .collapseKey: "collapseKey"
        case .validUntil: "validUntil"
        case .extras: "extras"
        case .silent: "silent"
        }
    }
}

typealias RequestMembers = RequestObject<RequestMember, 17>
typealias AppMembers = RequestObject<AppMember, 4>
typealias MessageMembers = RequestObject<MessageMember, 14>
