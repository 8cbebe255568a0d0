/// A record's key, `<audience>|<SHA-256 of the token in hex>` (design §4), taken apart.
struct SubscriptionKey {
    /// In the record's key.
    let audience: UnsafeRawBufferPointer
    /// 64 lower-case hex digits, in the record's key.
    let tokenHash: UnsafeRawBufferPointer

    /// Nil where the key is something else.
    init?(_ bytes: UnsafeRawBufferPointer?) {
        guard let bytes, bytes.count > 65, bytes[bytes.count - 65] == UInt8(ascii: "|") else { return nil }
        audience = UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count - 65)])
        tokenHash = UnsafeRawBufferPointer(rebasing: bytes[(bytes.count - 64)...])
        guard SubscriptionFields.isAudience(audience) else { return nil }
    }

    static let problem = "the key is not <audience>|<SHA-256 of the token in lower-case hex>"
}
