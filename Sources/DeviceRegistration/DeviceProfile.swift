import NotificationPayload

/// What an app wants its installation to be: where it is reached, by whom it is used, and what it gets. It is registered as a whole, so
/// that what is left out is removed.
public struct DeviceProfile: Hashable, Sendable {
    /// Where a push service finds the device.
    public struct Address: Hashable, Sendable, CustomStringConvertible {
        public enum Kind: String, Sendable {
            /// FCM's registration token.
            case registrationToken = "registration_token"
            /// A Firebase installation ID, by which Google replaces registration tokens.
            case installationID = "installation_id"
            /// APNs' device token, in hex.
            case apnsToken = "apns_token"
        }

        public var kind: Kind
        /// A secret: whoever knows it may take the device over.
        public var value: String

        public init(_ kind: Kind, _ value: String) {
            (self.kind, self.value) = (kind, value)
        }

        public var description: String { kind.rawValue }
    }

    /// The APNs host that the address is good for.
    public enum Environment: String, Sendable {
        case production, development
    }

    /// The bundle id or package name.
    public var app: String
    /// Nil while the push service has given none.
    public var address: Address?
    public var environment: Environment
    /// The language tag of the texts that the user wants.
    public var locale: String?
    /// Of the IANA database.
    public var timeZone: String?
    /// The shop's own id of the user that is logged in; nil: nobody is.
    public var person: String?
    /// Places and channels that are the device's own, such as `place/42`; 200 at most. A logout takes the places, and until the next
    /// login it keeps the channels that it has.
    public var audiences: [String]

    public init(
        app: String, address: Address? = nil, environment: Environment = .production, locale: String? = nil,
        timeZone: String? = nil, person: String? = nil, audiences: [String] = []
    ) {
        self.app = app
        self.address = address
        self.environment = environment
        self.locale = locale
        self.timeZone = timeZone
        self.person = person
        self.audiences = audiences
    }

    /// The members of the body of its PUT, without the generation.
    var members: [String: PushValue] {
        var members: [String: PushValue] = [
            "app": .string(app), "environment": .string(environment.rawValue),
            "audiences": .array(audiences.map(PushValue.string)),
        ]
        members["person"] = person.map(PushValue.string)
        return members.merging(refreshed.filter { $0.value != .null }) { $1 }
    }

    /// What the device credential may change, for a PATCH: null removes.
    var refreshed: [String: PushValue] {
        [
            "address": address.map { ["kind": .string($0.kind.rawValue), "value": .string($0.value)] }.map(
                PushValue.object)
                ?? .null,
            "locale": locale.map(PushValue.string) ?? .null, "time_zone": timeZone.map(PushValue.string) ?? .null,
        ]
    }
}
