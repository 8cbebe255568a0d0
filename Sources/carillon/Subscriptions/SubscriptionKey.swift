import FanOut
import Subscriptions

/// The key of a subscription's record, `<audience>|<SHA-256 of the token in hex>`.
struct SubscriptionKey: Hashable, Comparable {
    var audience: String
    var tokenHash: String

    init(audience: String, tokenHash: String) {
        self.audience = audience
        self.tokenHash = tokenHash
    }

    init(audience: String, token: String) {
        let key = Subscription(audience: audience, token: token, platform: .fcm, app: "").key
        self.init(audience: audience, tokenHash: String(key.suffix(64)))
    }

    /// nil where the bytes are no such key.
    init?(_ bytes: [UInt8]?) {
        guard let bytes, let bar = bytes.lastIndex(of: UInt8(ascii: "|")) else { return nil }
        self.init(
            audience: String(decoding: bytes[..<bar], as: UTF8.self),
            tokenHash: String(decoding: bytes[(bar + 1)...], as: UTF8.self))
        guard Self.isHash(tokenHash) else { return nil }
    }

    var text: String { "\(audience)|\(tokenHash)" }

    static func isHash(_ text: String) -> Bool {
        text.utf8.count == 64
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    static func < (left: SubscriptionKey, right: SubscriptionKey) -> Bool {
        (left.audience, left.tokenHash) < (right.audience, right.tokenHash)
    }
}
