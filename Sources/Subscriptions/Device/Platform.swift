/// The provider that a device's token belongs to. The raw value is what a subscription and the header `platform` carry.
public enum Platform: String, CaseIterable, Sendable {
    /// Firebase Cloud Messaging: Android, and iOS through Firebase.
    case fcm
    /// Apple's push service, directly.
    case apns

    /// How the table stores it.
    var code: UInt8 {
        switch self {
        case .fcm: 0
        case .apns: 1
        }
    }

    /// Nil for a code that this version does not write.
    init?(code: UInt8) {
        switch code {
        case Self.fcm.code: self = .fcm
        case Self.apns.code: self = .apns
        default: return nil
        }
    }
}

/// The APNs host that a token is good for. FCM has no such difference and takes either.
public enum PushEnvironment: String, CaseIterable, Sendable {
    case production, development

    /// How the table stores it.
    var code: UInt8 {
        switch self {
        case .production: 0
        case .development: 1
        }
    }

    /// Nil for a code that this version does not write.
    init?(code: UInt8) {
        switch code {
        case Self.production.code: self = .production
        case Self.development.code: self = .development
        default: return nil
        }
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

    package static let fcm = PlatformSet(rawValue: 1)
    package static let apns = PlatformSet(rawValue: 2)
    package static let all: PlatformSet = [.fcm, .apns]
}
