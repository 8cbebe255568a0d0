/// A device that wants an audience's notifications: one record of notifications.subscriptions (docs/code.md §4).
public struct Subscription: Equatable, Sendable {
    /// `place/<id>`, `user/<id>` or `channel/<id>`.
    public var audience: String
    /// The provider's token: opaque, 1 to 4,096 bytes, no whitespace or control characters; for APNs an even number of
    /// hex digits (docs/rules.md §3).
    public var token: String
    public var platform: Platform
    /// What the token is; nil: what it usually is at the provider.
    public var addressKind: AddressKind?
    /// The bundle id or package name. Required for APNs, where it is the topic.
    public var app: String
    public var environment: PushEnvironment
    public var locale: String?
    public var registeredAt: WallTime?
    /// When the app last reported this token: decides whether it is too old to use (docs/rules.md §5.3 row 20).
    public var lastSeenAt: WallTime?

    public init(
        audience: String, token: String, platform: Platform, addressKind: AddressKind? = nil, app: String,
        environment: PushEnvironment = .production, locale: String? = nil,
        registeredAt: WallTime? = nil, lastSeenAt: WallTime? = nil
    ) {
        self.audience = audience
        self.token = token
        self.platform = platform
        self.addressKind = addressKind
        self.app = app
        self.environment = environment
        self.locale = locale
        self.registeredAt = registeredAt
        self.lastSeenAt = lastSeenAt
    }
}
