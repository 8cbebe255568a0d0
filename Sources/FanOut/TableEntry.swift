import Extraction
import NotificationPayload
import StateStore

/// How the table stores a device: key, 16 bytes of the audience's SHA-256 and the 32 of the token's; value, a head of 16
/// bytes, the app, the token. Numbers are little-endian.
///
/// One entry a device, so that 100,000 devices of one audience load in linear time (design §7).
enum TableEntry {
    /// Written into every value, and into the checkpoint: another version is wiped and filled again.
    static let version: UInt8 = 1
    static let audienceCount = 16
    static let keyCount = 48
    private static let headCount = 16

    /// What stands at the head's bytes.
    private enum Place {
        static let version = 0
        static let platform = 1
        static let environment = 2
        static let needsEscaping = 3
        static let appCount = 4
        static let tokenCount = 6
        static let lastSeen = 8
    }

    /// Appends the value of a valid subscription.
    static func append(_ fields: SubscriptionFields, to values: inout ByteWriter) {
        let needsEscaping = Device.needsEscaping(fields.token) || Device.needsEscaping(fields.app)
        let lastSeen = fields.lastSeenAt?.milliseconds ?? Device.neverSeen
        withUnsafeTemporaryAllocation(byteCount: headCount, alignment: 8) { head in
            head.storeBytes(of: version, toByteOffset: Place.version, as: UInt8.self)
            head.storeBytes(of: fields.platform == .apns ? 1 : 0, toByteOffset: Place.platform, as: UInt8.self)
            head.storeBytes(
                of: fields.environment == .development ? 1 : 0, toByteOffset: Place.environment, as: UInt8.self)
            head.storeBytes(of: needsEscaping ? 1 : 0, toByteOffset: Place.needsEscaping, as: UInt8.self)
            head.storeBytes(
                of: UInt16(fields.app.count).littleEndian, toByteOffset: Place.appCount, as: UInt16.self)
            head.storeBytes(
                of: UInt16(fields.token.count).littleEndian, toByteOffset: Place.tokenCount, as: UInt16.self)
            head.storeBytes(of: lastSeen.littleEndian, toByteOffset: Place.lastSeen, as: Int64.self)
            values.append(UnsafeRawBufferPointer(head))
        }
        values.append(fields.app)
        values.append(fields.token)
    }

    /// The device of an entry, pointing into it; nil where it is not what ``write(_:to:)`` made.
    static func device(_ entry: StoreEntry, audience: Int32) -> Device? {
        guard entry.value.count >= headCount, entry.key.count == keyCount,
            let key = entry.key.baseAddress, let value = entry.value.baseAddress,
            value.load(fromByteOffset: Place.version, as: UInt8.self) == version
        else { return nil }
        let appCount = UInt16(littleEndian: value.loadUnaligned(fromByteOffset: Place.appCount, as: UInt16.self))
        let tokenCount = UInt16(littleEndian: value.loadUnaligned(fromByteOffset: Place.tokenCount, as: UInt16.self))
        guard entry.value.count == headCount + Int(appCount) + Int(tokenCount) else { return nil }
        return Device(
            hashStart: key + audienceCount,
            tokenStart: value + headCount + Int(appCount),
            appStart: value + headCount,
            tokenCount: tokenCount,
            appCount: appCount,
            platform: value.load(fromByteOffset: Place.platform, as: UInt8.self) == 1 ? .apns : .fcm,
            environment: value.load(fromByteOffset: Place.environment, as: UInt8.self) == 1
                ? .development : .production,
            needsEscaping: value.load(fromByteOffset: Place.needsEscaping, as: UInt8.self) == 1,
            audience: audience,
            lastSeenMilliseconds: Int64(
                littleEndian: value.loadUnaligned(fromByteOffset: Place.lastSeen, as: Int64.self)))
    }
}
