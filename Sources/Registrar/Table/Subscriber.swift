import Notifications

/// Who is subscribed to an audience, as the subscription's record says, whoever wrote it. No token.
package struct Subscriber: Equatable, Sendable {
    package var address: AddressHash
    package var kind: AddressKind
    package var environment: PushEnvironment
    /// Empty where a subscription of FCM has none.
    package var app: String
    package var locale: String?
    package var lastSeen: WallTime?

    package var platform: Platform { kind.platform }

    /// See ``Device/isStale(at:maxAge:)``.
    package func isStale(at time: WallTime, maxAge: Int64) -> Bool {
        lastSeen.map { time - $0 > maxAge } ?? false
    }

    // MARK: Stored

    private static let headCount = 11

    /// When it was last seen, in milliseconds, little-endian; the codes of kind and environment; how long the app is; app and
    /// locale.
    static func bytes(_ device: Device) -> [UInt8] {
        let seen = device.lastSeen?.milliseconds ?? .min
        return withUnsafeBytes(of: seen.littleEndian) { Array($0) }
            + [device.kind.code, device.environment.code, UInt8(device.app.count)] + device.app + device.locale
    }

    /// - Parameter hash: of the address, 32 bytes.
    /// - Returns: nil if another version wrote it.
    init?(address hash: [UInt8], _ bytes: [UInt8]) {
        guard let address = AddressHash(bytes: hash), bytes.count >= Self.headCount,
            let kind = AddressKind(code: bytes[8]), let environment = PushEnvironment(code: bytes[9])
        else { return nil }
        let texts = bytes[Self.headCount...]
        let appCount = Int(bytes[10])
        guard texts.count >= appCount else { return nil }
        (self.address, self.kind, self.environment) = (address, kind, environment)
        app = String(decoding: texts.prefix(appCount), as: UTF8.self)
        let locale = String(decoding: texts.dropFirst(appCount), as: UTF8.self)
        self.locale = locale.isEmpty ? nil : locale
        let seen = bytes.withUnsafeBytes { Int64(littleEndian: $0.loadUnaligned(as: Int64.self)) }
        lastSeen = seen == .min ? nil : WallTime(milliseconds: seen)
    }
}
