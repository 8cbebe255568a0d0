import Subscriptions

/// The bytes of a grouped record's value (docs/rules.md §7.2). The only place for them: writer and readers take them from
/// here.
///
///     {"devices":[{"hash":"…","token":"…"},…],"message":{…            FCM
///     {"devices":[{"hash":"…","token":"…"},…],"environment":…         APNs
///
/// What comes after ``afterDevices(of:)`` is the same as what comes in the value for one device after
/// ``head(of:)``, its token and ``afterToken``.
enum GroupedForm {
    /// The most devices of a record.
    static let mostDevices = 500
    /// The most bytes of its value: what any broker takes, with room for key and headers.
    static let mostBytes = 700_000

    static let start: StaticString = #"{"devices":["#
    static let beforeHash: StaticString = #"{"hash":""#
    static let beforeToken: StaticString = #"","token":""#
    static let afterEntry: StaticString = #""}"#
    /// The bytes of a device's entry without its token.
    static var entrySize: Int {
        beforeHash.utf8CodeUnitCount + 64 + beforeToken.utf8CodeUnitCount + afterEntry.utf8CodeUnitCount
    }

    /// From the end of the list to what the devices share.
    static func afterDevices(of platform: Platform) -> StaticString {
        switch platform {
        case .fcm: #"],"message":{"#
        case .apns: "],"
        }
    }

    /// How the value for one device begins, up to its token.
    static func head(of platform: Platform) -> StaticString {
        switch platform {
        case .fcm: #"{"message":{"token":""#
        case .apns: #"{"device_token":""#
        }
    }

    /// From the token to what the devices share.
    static let afterToken: StaticString = #"","#
}
