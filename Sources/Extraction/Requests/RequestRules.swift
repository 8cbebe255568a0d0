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

    public init(
        timeToLive: Duration = .seconds(86_400), unknownTypes: UnknownTypes = .send, ignoresValidUntil: Bool = false,
        appTypes: AppTypes = AppTypes()
    ) {
        self.timeToLive = timeToLive
        self.unknownTypes = unknownTypes
        self.ignoresValidUntil = ignoresValidUntil
        self.appTypes = appTypes
    }
}
