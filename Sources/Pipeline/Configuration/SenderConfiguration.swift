import Notifications

/// How `carillon deliver` sends what the pipeline has written (docs/delivery.md).
public struct SenderConfiguration: Sendable {
    /// What requests are sent with; in the order of the file.
    public var credentials: [ProviderCredential] = []
    /// The delays of the retry topics, ascending: no setting, since what waits in a topic would be lost with its name.
    package var retries: [Duration] = [.seconds(10), .seconds(60), .seconds(900)]
    /// The most offsets of a partition that are read and not finished.
    public var window = LaneOffset.largestWindow
    /// The most requests to a provider that are in flight, in a process.
    public var inFlight = 1_000
    public var commitInterval: Duration = .milliseconds(50)
    /// How long a push is tried, pauses not counted.
    public var longestTry: Duration = .seconds(3_600)
    /// The requests a minute of each FCM credential, all processes together.
    public var fcmPerMinute = 600_000
    /// Where FCM is. It does not change the token endpoint, which a service account's file names.
    public var fcmURL = "https://fcm.googleapis.com"
    /// Where APNs is; nil: Apple's hosts, by the device's environment.
    public var apnsURL: String?
    /// Apple's other port passes firewalls that 443 does not.
    public var apnsPort = 443
    /// A PEM file with the only authorities that are trusted; nil: the system's.
    public var caFile: String?

    /// Whether the registrar is told of dead devices every hour.
    public var reaps = true

    public init() {}

    package func credentialMap() throws(CredentialMap.Problem) -> CredentialMap {
        try CredentialMap(credentials.map(\.entry))
    }

    /// The names of the retry topics, in the order of their delays.
    package func retryTopics(of dispatch: String) -> [String] {
        retries.map { "\(dispatch).retry.\(ConfigurationText.text($0))" }
    }

    /// What the consumer group of each provider's lane begins with.
    package static func groupPrefix(in group: String) -> String { "\(group)-delivery-" }

    /// The consumer group of a provider's lane.
    package static func group(of provider: Platform, in group: String) -> String {
        groupPrefix(in: group) + provider.rawValue
    }
}
