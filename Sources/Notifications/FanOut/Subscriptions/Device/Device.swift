/// One device of an audience.
///
/// Its bytes are in the table's snapshot or in the ``DeviceList``: valid until the next ``FanOut/beginTransaction()``.
package struct Device {
    package let hashStart: UnsafeRawPointer
    let tokenStart: UnsafeRawPointer
    let appStart: UnsafeRawPointer
    let tokenCount: UInt16
    let appCount: UInt16
    package let kind: AddressKind
    package let environment: PushEnvironment
    /// The token or the app contains a quote, a backslash or a control character, which JSON must escape.
    package let needsEscaping: Bool
    /// The locale's bytes are right after the token's.
    let localeCount: UInt8
    /// The index of its audience in the ``AudienceList``.
    package let audience: Int32
    let lastSeenMilliseconds: Int64

    /// The SHA-256 of the token, 32 bytes.
    package var tokenHash: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: hashStart, count: 32) }
    package var token: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: tokenStart, count: Int(tokenCount)) }
    /// The bundle id or package name; empty if an FCM subscription has none.
    package var app: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: appStart, count: Int(appCount)) }

    /// As the app registered it, such as `en-GB`; empty if the subscription has none.
    package var locale: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: tokenStart + Int(tokenCount), count: Int(localeCount))
    }

    package var platform: Platform { kind.platform }
    package var lastSeen: WallTime? { Self.time(lastSeenMilliseconds) }

    /// When the app registered the token, according to the subscription. Its 8 bytes are right before the app.
    package var registeredAt: WallTime? {
        Self.time(Int64(littleEndian: (appStart - 8).loadUnaligned(as: Int64.self)))
    }

    /// The offset of the registrar's command by which the device is subscribed; nil where somebody else has subscribed it.
    /// Its 8 bytes are before those of the time of registration.
    package var command: Int64? {
        let command = Int64(littleEndian: (appStart - 16).loadUnaligned(as: Int64.self))
        return command == Self.noCommand ? nil : command
    }

    private static func time(_ milliseconds: Int64) -> WallTime? {
        milliseconds == unknownTime ? nil : WallTime(milliseconds: milliseconds)
    }

    /// Stands for "the subscription does not say when".
    static let unknownTime = Int64.min
    /// Stands for "no command of the registrar's".
    static let noCommand: Int64 = -1

    /// Whether it was last seen more than `maxAge` milliseconds before `time` (docs/rules.md §5.3 row 20).
    package func isStale(at time: WallTime, maxAge: Int64) -> Bool {
        lastSeen.map { time - $0 > maxAge } ?? false
    }

    package var platformSet: PlatformSet { PlatformSet(platform) }
}

extension Device {
    static func needsEscaping(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.contains { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") || $0 < 0x20 }
    }
}
