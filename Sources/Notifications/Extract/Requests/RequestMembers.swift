/// The members of a request.
enum RequestMember: String, EnvelopedName {
    case requestID = "request_id"
    case requestedAt = "requested_at"
    case audience
    case expiresAt = "expires_at"
    case collapseKey = "collapse_key"
    case priority, app, message

    static let table = NameTable(Self.self, isInEnvelope: true)
    static let holder: StaticString = "the request"
    static let path: StaticString = ""
    static let contentNames = [RequestMember.audience, .app, .message]
}

/// The members of document 2's object.
enum AppMember: String, RequestMemberName {
    case title, body
    case imageURL = "imageUrl"
    case data

    static let table = NameTable(Self.self)
    static let holder: StaticString = "app"
    static let path: StaticString = "app."
}

/// The members of document 5's object.
enum MessageMember: String, RequestMemberName {
    case title, body
    case titleKey = "titleLocKey"
    case titleArguments = "titleLocArgs"
    case bodyKey = "bodyLocKey"
    case bodyArguments = "bodyLocArgs"
    case badge, sound, icon, category, collapseKey, validUntil, extras, silent

    static let table = NameTable(Self.self)
    static let holder: StaticString = "message"
    static let path: StaticString = "message."
}

typealias RequestMembers = RequestObject<RequestMember, 17>
typealias AppMembers = RequestObject<AppMember, 4>
typealias MessageMembers = RequestObject<MessageMember, 14>
