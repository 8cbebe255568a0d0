/// The provider that a device's token belongs to. The raw value is the one in a subscription and in the header
/// `platform`.
public enum Platform: String, CaseIterable, Sendable, Encodable {
    /// Firebase Cloud Messaging: Android, and iOS through Firebase.
    case fcm
    /// Apple's push service, directly.
    case apns

    /// The bit in a ``PlatformSet``: less than 8.
    @inlinable package var code: UInt8 {
        switch self {
        case .fcm: 0
        case .apns: 1
        }
    }

    /// As a person writes it.
    package var name: String {
        switch self {
        case .fcm: "FCM"
        case .apns: "APNs"
        }
    }

    /// A token that nobody has.
    package var madeUpToken: String {
        switch self {
        case .fcm: "made-up-token"
        case .apns: "0a1b2c3d"
        }
    }

    /// Why no device of the provider can have such a subscription, one sentence each.
    func problems(token: UnsafeRawBufferPointer, app: UnsafeRawBufferPointer) -> [String] {
        switch self {
        case .fcm: return []
        case .apns:
            var problems: [String] = []
            if !token.isEmpty, !SubscriptionFields.isHex(token) {
                problems.append("an APNs token is an even number of hex digits")
            }
            if app.isEmpty { problems.append("an APNs subscription needs its app: the bundle id is the topic") }
            return problems
        }
    }
}

/// What the address of a device is for its provider. The raw value is the one in a subscription.
public enum AddressKind: String, CaseIterable, Sendable {
    /// FCM's registration token.
    case registrationToken = "registration_token"
    /// A Firebase installation ID, by which Google replaces registration tokens: a device has one or the other.
    case installationID = "installation_id"
    /// APNs' device token.
    case apnsToken = "apns_token"

    package var platform: Platform {
        switch self {
        case .registrationToken, .installationID: .fcm
        case .apnsToken: .apns
        }
    }

    /// The member of the provider's message that has the address.
    package var member: String {
        switch self {
        case .registrationToken: "token"
        case .installationID: "fid"
        case .apnsToken: "device_token"
        }
    }

    /// The code in the table.
    package var code: UInt8 {
        switch self {
        case .registrationToken: 0
        case .apnsToken: 1
        case .installationID: 2
        }
    }

    /// Nil for a code that this version does not write.
    package init?(code: UInt8) {
        guard let kind = Self.allCases.first(where: { $0.code == code }) else { return nil }
        self = kind
    }
}

extension Platform {
    /// Of an address whose subscription does not say what it is.
    package var usualKind: AddressKind {
        switch self {
        case .fcm: .registrationToken
        case .apns: .apnsToken
        }
    }

    /// Of the addresses of its devices.
    package var kinds: [AddressKind] { AddressKind.allCases.filter { $0.platform == self } }
}

/// The APNs host that accepts a token. FCM does not distinguish: it ignores this.
public enum PushEnvironment: String, CaseIterable, Sendable {
    case production, development

    /// The code in the table.
    package var code: UInt8 {
        switch self {
        case .production: 0
        case .development: 1
        }
    }

    /// Nil for a code that this version does not write.
    package init?(code: UInt8) {
        guard let environment = Self.allCases.first(where: { $0.code == code }) else { return nil }
        self = environment
    }
}

/// A set of platforms, as small as a byte.
@frozen
package struct PlatformSet: OptionSet, Sendable {
    package let rawValue: UInt8

    @inlinable
    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    @inlinable
    package init(_ platform: Platform) {
        rawValue = 1 << platform.code
    }

    package static let all = Platform.allCases.reduce(into: PlatformSet()) { $0.insert(PlatformSet($1)) }
}
