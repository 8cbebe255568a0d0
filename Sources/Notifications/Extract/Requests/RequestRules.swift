/// The rules that decide what a request says (docs/rules.md §8.9).
public struct RequestRules: Equatable, Sendable {
    /// What to do with a type of app notification that is not known.
    public enum UnknownTypes: String, CaseIterable, Sendable {
        case send
        case deadLetter = "dead-letter"
    }

    /// How long a request without an expiry of its own is worth delivering, from its event time.
    public var timeToLive: Duration
    public var unknownTypes: UnknownTypes
    /// FCM's message ignores `validUntil`, as document 5 says.
    public var ignoresValidUntil: Bool
    /// The types of app notifications beside document 2's.
    public var appTypes: AppTypes
    /// The audiences that a request may name, `*` at the end of one standing for any rest; empty: every audience.
    public var audiences: [String]
    /// The apps whose devices a request reaches, by bundle id or package name; empty: every device.
    public var apps: [String]

    public init(
        timeToLive: Duration = .seconds(86_400), unknownTypes: UnknownTypes = .send, ignoresValidUntil: Bool = false,
        appTypes: AppTypes = AppTypes(), audiences: [String] = [], apps: [String] = []
    ) {
        self.timeToLive = timeToLive
        self.unknownTypes = unknownTypes
        self.ignoresValidUntil = ignoresValidUntil
        self.appTypes = appTypes
        self.audiences = audiences
        self.apps = apps
    }
}
