import COpenSSL
import Digests

/// A key that is made for a test and signs tokens, as a shop's backend does.
///
/// Any thread: OpenSSL only reads the key; hence `@unchecked Sendable`.
package final class TokenSigner: @unchecked Sendable {
    package enum Kind {
        case p256, p384, ed25519
        case rsa(bits: Int32)
        case secret([UInt8])
    }

    private struct Failure: Error {}

    private let key: OpaquePointer
    private let digest: OpaquePointer?
    /// Of r and s of an elliptic signature.
    private let width: Int32?

    package init(_ kind: Kind) throws {
        let made: OpaquePointer?
        switch kind {
        case .p256: made = Self.make("EC") { EVP_PKEY_CTX_set_group_name($0, "P-256") }
        case .p384: made = Self.make("EC") { EVP_PKEY_CTX_set_group_name($0, "P-384") }
        case .ed25519: made = Self.make("ED25519") { _ in 1 }
        case .rsa(let bits): made = Self.make("RSA") { EVP_PKEY_CTX_set_rsa_keygen_bits($0, bits) }
        case .secret(let bytes): made = EVP_PKEY_new_raw_private_key(EVP_PKEY_HMAC, nil, bytes, bytes.count)
        }
        guard let made else { throw Failure() }
        key = made
        switch kind {
        case .p256: (digest, width) = (EVP_sha256(), 32)
        case .p384: (digest, width) = (EVP_sha256(), 48)
        case .ed25519: (digest, width) = (nil, nil)
        case .rsa, .secret: (digest, width) = (EVP_sha256(), nil)
        }
    }

    deinit {
        EVP_PKEY_free(key)
    }

    private static func make(_ name: String, _ set: (OpaquePointer?) -> Int32) -> OpaquePointer? {
        let context = EVP_PKEY_CTX_new_from_name(nil, name, nil)
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1, set(context) == 1, EVP_PKEY_generate(context, &key) == 1 else {
            return nil
        }
        return key
    }

    /// SubjectPublicKeyInfo in PEM.
    package var publicPEM: [UInt8] { Self.text { PEM_write_bio_PUBKEY($0, key) } }
    /// PKCS #8 in PEM.
    package var privatePEM: [UInt8] { Self.text { PEM_write_bio_PrivateKey($0, key, nil, nil, 0, nil, nil) } }

    private static func text(_ write: (OpaquePointer?) -> Int32) -> [UInt8] {
        let text = BIO_new(BIO_s_mem())
        defer { BIO_free(text) }
        var bytes = [UInt8](repeating: 0, count: 16_384)
        guard write(text) == 1 else { return [] }
        let count = BIO_read(text, &bytes, Int32(bytes.count))
        return Array(bytes.prefix(Int(count)))
    }

    /// As OpenSSL has it: in DER where it is of an elliptic curve.
    package func signature(_ bytes: [UInt8]) throws -> [UInt8] {
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        var count = max(Int(EVP_PKEY_get_size(key)), 32)
        var signature = [UInt8](repeating: 0, count: count)
        guard EVP_DigestSignInit(context, nil, digest, nil, key) == 1,
            EVP_DigestSign(context, &signature, &count, bytes, bytes.count) == 1
        else { throw Failure() }
        return Array(signature.prefix(count))
    }

    /// As JWS has it.
    package func sign(_ bytes: [UInt8]) throws -> [UInt8] {
        let signature = try signature(bytes)
        guard let width else { return signature }
        var raw = [UInt8](repeating: 0, count: Int(2 * width))
        guard copenssl_raw_signature(signature, signature.count, width, &raw) == 1 else { throw Failure() }
        return raw
    }

    /// In the compact form.
    package func token(header: String, claims: String) throws -> [UInt8] {
        let signed = Self.signed(header: header, claims: claims)
        return signed + [UInt8(ascii: ".")] + Base64URL.encode(try sign(signed))
    }

    /// What is signed of a token.
    package static func signed(header: String, claims: String) -> [UInt8] {
        Base64URL.encode(header.utf8) + [UInt8(ascii: ".")] + Base64URL.encode(claims.utf8)
    }
}
