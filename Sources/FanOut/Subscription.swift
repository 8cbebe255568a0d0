import Extraction

/// A device that wants an audience's notifications: one record of notifications.subscriptions (design §4).
public struct Subscription: Equatable, Sendable {
    /// `place/<id>`, `user/<id>` or `channel/<id>`.
    public var audience: String
    /// The provider's token: opaque, 1 to 4,096 bytes, no whitespace or control characters; for APNs an even number of
    /// hex digits (push-rules §3).
    public var token: String
    public var platform: Platform
    /// The bundle id or package name. Required for APNs, where it is the topic.
    public var app: String
    public var environment: PushEnvironment
    public var locale: String?
    public var registeredAt: EventTime?
    /// When the app last reported this token; decides when it is too old to use (push-rules §5.3 row 20).
    public var lastSeenAt: EventTime?

    public init(
        audience: String, token: String, platform: Platform, app: String,
        environment: PushEnvironment = .production, locale: String? = nil,
        registeredAt: EventTime? = nil, lastSeenAt: EventTime? = nil
    ) {
        self.audience = audience
        self.token = token
        self.platform = platform
        self.app = app
        self.environment = environment
        self.locale = locale
        self.registeredAt = registeredAt
        self.lastSeenAt = lastSeenAt
    }
}

extension Subscription {
    /// What is wrong with a subscription, all of it. Never quotes the token.
    public struct Invalid: Error, Equatable, Sendable, CustomStringConvertible {
        /// One sentence a problem.
        public var problems: [String]

        public init(problems: [String]) {
            self.problems = problems
        }

        public var description: String {
            problems.joined(separator: "; ")
        }
    }

    /// The record's key: `<audience>|<SHA-256 of the token in hex>`.
    public var key: String { "" }

    /// The record's value: JSON with the members in the order of design §4.
    public func encoded() -> [UInt8] { [] }

    /// Reads a record's key and value. The key must be the one that belongs to the value.
    public static func decode(key: some Sequence<UInt8>, value: some Sequence<UInt8>) throws(Invalid) -> Subscription {
        throw Invalid(problems: ["not yet"])
    }

    /// Throws every problem of this subscription at once.
    public func validate() throws(Invalid) {}

    static func canSend(token: String, platform: Platform, app: String) -> Bool {
        !token.isEmpty && token.utf8.count <= 4_096 && app.utf8.count <= 255
    }
}
