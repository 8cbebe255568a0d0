import Digests

/// The key of a subscription's record, `<audience>|<SHA-256 of the token in hex>` (docs/code.md §4).
package struct SubscriptionKey: Hashable, Comparable, Sendable {
    /// `place/<id>`, `user/<id>`, `channel/<id>` or `device/<SHA-256 of the token>`.
    package var audience: String
    /// 64 lower-case hex digits.
    package var tokenHash: String

    package init(audience: String, tokenHash: String) {
        self.audience = audience
        self.tokenHash = tokenHash
    }

    package init(audience: String, token: String) {
        self.init(audience: audience, tokenHash: Self.tokenHash(of: token))
    }

    /// Nil if the bytes are not such a key.
    package init?(_ bytes: [UInt8]?) {
        guard let bytes else { return nil }
        let parts = bytes.withUnsafeBytes { bytes in
            View(bytes).map {
                (String(decoding: $0.audience, as: UTF8.self), String(decoding: $0.tokenHash, as: UTF8.self))
            }
        }
        guard let parts else { return nil }
        self.init(audience: parts.0, tokenHash: parts.1)
    }

    /// The key as the record has it.
    package var text: String { "\(audience)|\(tokenHash)" }

    /// The SHA-256 of a token: 64 lower-case hex digits.
    package static func tokenHash(of token: String) -> String {
        SHA256.hex(of: token)
    }

    /// Whether a text is 64 lower-case hex digits.
    package static func isTokenHash(_ text: String) -> Bool {
        Array(text.utf8).withUnsafeBytes(Hex.isHash)
    }

    package static func < (left: SubscriptionKey, right: SubscriptionKey) -> Bool {
        (left.audience, left.tokenHash) < (right.audience, right.tokenHash)
    }

    /// The same key as a view of the record's bytes, without a copy: what the table reads.
    struct View {
        let audience: UnsafeRawBufferPointer
        let tokenHash: UnsafeRawBufferPointer

        /// Nil if the bytes are not such a key.
        init?(_ bytes: UnsafeRawBufferPointer?) {
            guard let bytes, bytes.count > 65, bytes[bytes.count - 65] == UInt8(ascii: "|") else { return nil }
            audience = UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count - 65)])
            tokenHash = UnsafeRawBufferPointer(rebasing: bytes[(bytes.count - 64)...])
            guard Audience(of: audience) != nil, Hex.isHash(tokenHash) else { return nil }
        }
    }

    /// The problem of bytes that are not such a key.
    static let problem = "the key is not <audience>|<SHA-256 of the token in lower-case hex>"
}
