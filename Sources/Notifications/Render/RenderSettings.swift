/// The configuration of the provider messages (docs/rules.md §7, docs/code.md §4).
public struct RenderSettings: Equatable, Sendable {
    /// The delivery priority on Android. Always sent, since FCM's documents disagree about its default.
    public enum AndroidPriority: String, CaseIterable, Sendable {
        case high, normal
    }

    /// A header that is written only on request, because each one costs 0.18 µs per record.
    public enum OptionalHeader: CaseIterable, RawRepresentable, Sendable {
        case eventType, app, orderID

        public init?(rawValue: String) {
            guard let known = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
            self = known
        }

        /// The header's name.
        public var rawValue: String { header.text }

        var header: DispatchHeader {
            switch self {
            case .eventType: .eventType
            case .app: .app
            case .orderID: .orderID
            }
        }
    }

    /// Which languages of a display broadcast a device gets (docs/rules.md §14.2).
    public enum BroadcastLanguage: String, CaseIterable, Sendable {
        /// All of them, as data; the app chooses. On iOS the device's is shown.
        case all
        /// The device's, shown by the system.
        case device
    }

    /// How long a notification is worth delivering, from its event's time. Whole seconds are used (rounded down),
    /// at least 0 and at most FCM's 2,419,200 (docs/rules.md §1.2).
    public var timeToLive: Duration
    public var androidPriority: AndroidPriority
    public var optionalHeaders: Set<OptionalHeader>
    /// Whether a request's badge is also sent to FCM devices (docs/rules.md §10).
    public var sendsNotificationCount: Bool
    /// The titles and bodies of order pushes; nil: they are data only (docs/rules.md §7.1).
    public var display: DisplayTemplates?
    public var broadcastLanguage: BroadcastLanguage

    public init(
        timeToLive: Duration = .seconds(3_600), androidPriority: AndroidPriority = .high,
        optionalHeaders: Set<OptionalHeader> = [], sendsNotificationCount: Bool = false,
        display: DisplayTemplates? = nil, broadcastLanguage: BroadcastLanguage = .all
    ) {
        self.timeToLive = timeToLive
        self.androidPriority = androidPriority
        self.optionalHeaders = optionalHeaders
        self.sendsNotificationCount = sendsNotificationCount
        self.display = display
        self.broadcastLanguage = broadcastLanguage
    }

    /// ``timeToLive`` as it is sent.
    package var timeToLiveSeconds: Int64 {
        min(max(timeToLive.components.seconds, 0), 2_419_200)
    }
}
