import NotificationPayload
import StateStore

/// How the table stores a device. Key: 16 bytes of the audience's SHA-256 and the 32 bytes of the token's. Value: a
/// head of 33 bytes, the app, the token, the locale. Numbers are little-endian.
///
/// One entry per device, so that 100,000 devices of one audience load in linear time (docs/code.md §7).
package enum TableEntry {
    /// Written into every value and into the checkpoint: a table of another version is wiped and filled again (ADR 30).
    package static let version: UInt8 = 6
    package static let audienceCount = 16
    package static let keyCount = 48
    private static let headCount = 33

    /// The offsets of the head's fields. ``Device/registeredAt`` and ``Device/command`` read theirs relative to the app.
    private enum Layout {
        static let version = 0
        static let kind = 1
        static let environment = 2
        static let needsEscaping = 3
        static let appCount = 4
        static let tokenCount = 6
        static let lastSeen = 8
        static let localeCount = 16
        static let command = 17
        static let registeredAt = 25
    }

    /// Appends the value of a valid subscription.
    ///
    /// - Parameter command: see ``SubscriptionRecord/command``.
    static func append(
        _ fields: SubscriptionFields, _ platform: Platform, command: Int64?, to values: inout ByteWriter
    ) {
        let needsEscaping = Device.needsEscaping(fields.token) || Device.needsEscaping(fields.app)
        let kind = fields.kind ?? platform.usualKind
        let locale = fields.storedLocale
        withUnsafeTemporaryAllocation(byteCount: headCount, alignment: 8) { head in
            head.storeBytes(of: version, toByteOffset: Layout.version, as: UInt8.self)
            head.storeBytes(of: kind.code, toByteOffset: Layout.kind, as: UInt8.self)
            head.storeBytes(of: fields.environment.code, toByteOffset: Layout.environment, as: UInt8.self)
            head.storeBytes(of: needsEscaping.code, toByteOffset: Layout.needsEscaping, as: UInt8.self)
            head.storeBytes(
                of: UInt16(fields.app.count).littleEndian, toByteOffset: Layout.appCount, as: UInt16.self)
            head.storeBytes(
                of: UInt16(fields.token.count).littleEndian, toByteOffset: Layout.tokenCount, as: UInt16.self)
            store(fields.lastSeenAt, at: Layout.lastSeen, in: head)
            head.storeBytes(of: UInt8(locale.count), toByteOffset: Layout.localeCount, as: UInt8.self)
            head.storeBytes(
                of: (command ?? Device.noCommand).littleEndian, toByteOffset: Layout.command, as: Int64.self)
            store(fields.registeredAt, at: Layout.registeredAt, in: head)
            values.append(UnsafeRawBufferPointer(head))
        }
        values.append(fields.app)
        values.append(fields.token)
        values.append(locale)
    }

    private static func store(_ time: WallTime?, at byteOffset: Int, in head: UnsafeMutableRawBufferPointer) {
        let milliseconds = time?.milliseconds ?? Device.unknownTime
        head.storeBytes(of: milliseconds.littleEndian, toByteOffset: byteOffset, as: Int64.self)
    }

    /// The device of an entry, which points into it; nil if ``append(_:_:to:)`` did not write it.
    package static func device(_ entry: StoreEntry, audience: Int32) -> Device? {
        guard entry.value.count >= headCount, entry.key.count == keyCount,
            let key = entry.key.baseAddress, let value = entry.value.baseAddress,
            value.load(fromByteOffset: Layout.version, as: UInt8.self) == version,
            let kind = AddressKind(code: value.load(fromByteOffset: Layout.kind, as: UInt8.self)),
            let environment = PushEnvironment(code: value.load(fromByteOffset: Layout.environment, as: UInt8.self)),
            let needsEscaping = Bool(code: value.load(fromByteOffset: Layout.needsEscaping, as: UInt8.self))
        else { return nil }
        let appCount = UInt16(littleEndian: value.loadUnaligned(fromByteOffset: Layout.appCount, as: UInt16.self))
        let tokenCount = UInt16(littleEndian: value.loadUnaligned(fromByteOffset: Layout.tokenCount, as: UInt16.self))
        let localeCount = value.load(fromByteOffset: Layout.localeCount, as: UInt8.self)
        guard entry.value.count == headCount + Int(appCount) + Int(tokenCount) + Int(localeCount) else { return nil }
        return Device(
            hashStart: key + audienceCount,
            tokenStart: value + headCount + Int(appCount),
            appStart: value + headCount,
            tokenCount: tokenCount,
            appCount: appCount,
            kind: kind,
            environment: environment,
            needsEscaping: needsEscaping,
            localeCount: localeCount,
            audience: audience,
            lastSeenMilliseconds: Int64(
                littleEndian: value.loadUnaligned(fromByteOffset: Layout.lastSeen, as: Int64.self)))
    }
}

extension Bool {
    /// The code in the table.
    var code: UInt8 { self ? 1 : 0 }

    /// Nil for a code that this version does not write.
    init?(code: UInt8) {
        switch code {
        case 0: self = false
        case 1: self = true
        default: return nil
        }
    }
}
