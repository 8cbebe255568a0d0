import JSONReader
import Notifications
import StateStore

/// What the table has of a subscription's record, whoever wrote it. No token.
package struct SubscriptionEntry: Equatable, Sendable {
    /// What evidence of a dead device is compared with.
    struct Facts: Equatable, Sendable {
        /// The newest of when it was registered, last seen and written.
        var newest: WallTime
        var platform: Platform
        var environment: PushEnvironment
        /// A checksum: that of another app in its place is not worth more bytes for each subscription.
        var app: UInt64

        init(newest: WallTime, platform: Platform, environment: PushEnvironment, app: UInt64) {
            (self.newest, self.platform, self.environment, self.app) = (newest, platform, environment, app)
        }

        init(_ subscription: Subscription, written time: WallTime?) {
            // Without any time it cannot be told to be older.
            newest =
                [subscription.registeredAt, subscription.lastSeenAt, time].compactMap { $0 }.max() ?? .distantFuture
            (platform, environment) = (subscription.platform, subscription.environment)
            app = SubscriptionEntry.checksum(of: Array(subscription.app.utf8))
        }
    }

    /// Of the value: by which the record is known to say what it is to say.
    var checksum: UInt64
    /// Nil where the value is no subscription; it can be deleted all the same.
    var facts: Facts?

    /// - Parameter time: when the record was written; nil: that is not known.
    init(_ key: SubscriptionKey, _ value: [UInt8], written time: WallTime?, _ reader: inout JSONReader) {
        checksum = Self.checksum(of: value)
        guard let found = try? Subscription.decode(key: Array(key.text.utf8), value: value, &reader) else { return }
        facts = Facts(found, written: time)
    }

    /// That of a record that is to be written.
    init(_ subscription: Subscription, _ value: [UInt8]) {
        checksum = Self.checksum(of: value)
        facts = Facts(subscription, written: nil)
    }

    /// By which a record is known to say what it is to say.
    static func checksum(of value: [UInt8]) -> UInt64 {
        value.withUnsafeBytes { Checksum.of(UnsafeRawBufferPointer(start: nil, count: 0), $0) }
    }

    /// Whether a provider's word makes it a dead device's (docs/rules.md §12).
    func isDead(by evidence: Evidence) -> Bool {
        guard let facts else { return false }
        return facts.newest < evidence.death.at
            && evidence.fits(facts.platform, facts.environment) { Self.checksum(of: Array($0.text.utf8)) == facts.app }
    }

    // MARK: Stored

    static let size = 26

    /// The checksum, the newest time, the checksum of the app, and the codes of platform and environment; without facts the
    /// rest is 0xFF. The audience follows.
    var bytes: [UInt8] {
        guard let facts else {
            return Self.bytes(checksum) + [UInt8](repeating: .max, count: Self.size - 8)
        }
        return Self.bytes(checksum) + Self.bytes(UInt64(bitPattern: facts.newest.milliseconds)) + Self.bytes(facts.app)
            + [facts.platform.code, facts.environment.code]
    }

    /// Nil if another version wrote it.
    init?(_ bytes: [UInt8]) {
        guard bytes.count > Self.size else { return nil }
        let words = bytes.withUnsafeBytes { bytes in
            (0..<3).map { UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: $0 * 8, as: UInt64.self)) }
        }
        checksum = words[0]
        guard bytes[24] != .max else { return }
        guard let platform = Platform.allCases.first(where: { $0.code == bytes[24] }),
            let environment = PushEnvironment(code: bytes[25])
        else { return nil }
        facts = Facts(
            newest: WallTime(milliseconds: Int64(bitPattern: words[1])), platform: platform, environment: environment,
            app: words[2])
    }

    private static func bytes(_ word: UInt64) -> [UInt8] { withUnsafeBytes(of: word.littleEndian) { Array($0) } }
}
