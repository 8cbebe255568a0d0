/// How backends ask over HTTP (docs/api.md).
public struct APIConfiguration: Sendable {
    /// Where keys work: one of another environment is refused, so that a test's key cannot send.
    public enum Environment: String, CaseIterable, Sendable {
        case live, test
    }

    /// Where it listens; nil: there is no API.
    public var http: ListenAddress?
    /// The path of the file of keys, which is read again when it changes; empty: there is none.
    public var keys = ""
    /// The path of the file of issuers, whose tokens an app's users may call with; empty: none may.
    public var issuers = ""
    public var environment = Environment.live
    /// Requests a second of a key that has no rate of its own.
    public var rate = 1_000
    /// How long a client waits at most until it hears what became of what it has written.
    public var wait: Duration = .seconds(3)

    /// Whether it takes events of orders, which needs a transactional producer.
    public var events = false
    /// Where the proxies are whose `X-Forwarded-For` says who a client is.
    public var trustedProxies: [IPNetwork] = []

    public init() {}
}
