import COpenSSL

/// A key that verifies signatures in the form of JWS (RFC 7515): a public key, or the secret of `HS256`.
///
/// It belongs to one algorithm, so that no token can choose another. It has no description, so that a secret cannot get
/// into a log or an error. Any thread: OpenSSL only reads the key, and each verification has a context of its own; hence
/// `@unchecked Sendable`.
package final class VerifyingKey: @unchecked Sendable {
    /// A JWS algorithm; the raw value is its name in a token's header.
    package enum Algorithm: String, CaseIterable, Sendable {
        /// RFC 7518 §3.4.
        case es256 = "ES256"
        /// RFC 8037 §3.1.
        case edDSA = "EdDSA"
        /// The newer name of the same, RFC 9864 §2.2.
        case ed25519 = "Ed25519"
        /// RFC 7518 §3.3.
        case rs256 = "RS256"
        /// RFC 7518 §3.2.
        case hs256 = "HS256"

        /// What it needs, for a person.
        package var keyKind: String {
            switch self {
            case .es256: "a public key on P-256 in PEM"
            case .edDSA, .ed25519: "a public key on Ed25519 in PEM"
            case .rs256: "a public RSA key of 2,048 to 8,192 bits in PEM"
            case .hs256: "a secret of 32 to 1,024 bytes"
            }
        }
    }

    /// Why a key cannot be used; never with a part of it.
    package enum Problem: Error, Equatable, Sendable {
        /// The text has no public key in PEM, or one that OpenSSL finds unsound.
        case unreadable
        /// The text has a private key, which belongs to those who sign alone.
        case isPrivate
        /// The key is not of the algorithm's kind.
        case otherKind
        /// The secret is too short or too long, or is the text of a key, which others know.
        case noSecret
    }

    package let algorithm: Algorithm
    private let key: OpaquePointer

    /// Reads a key: keep it.
    ///
    /// - Parameter bytes: SubjectPublicKeyInfo in PEM (RFC 7468 §13); for `HS256` the secret itself.
    package init(_ bytes: [UInt8], _ algorithm: Algorithm) throws(Problem) {
        let key =
            switch algorithm {
            case .es256, .edDSA, .ed25519, .rs256: try Self.publicKey(bytes, algorithm)
            case .hs256: try Self.secret(bytes)
            }
        self.algorithm = algorithm
        self.key = key
    }

    deinit {
        EVP_PKEY_free(key)
    }

    /// Whether the key's owner has signed these bytes.
    ///
    /// - Parameter signature: as JWS has it: for `ES256` r and s, 32 bytes each (RFC 7518 §3.4).
    package func accepts(_ signature: [UInt8], of signed: [UInt8]) -> Bool {
        switch algorithm {
        case .es256:
            var der = [UInt8](repeating: 0, count: 72)
            guard signature.count == 64 else { return false }
            let count = Int(copenssl_der_signature(signature, 32, &der))
            return copenssl_verify(key, EVP_sha256(), der, count, signed, signed.count) == 1
        case .edDSA, .ed25519:
            return signature.count == 64
                && copenssl_verify(key, nil, signature, signature.count, signed, signed.count) == 1
        case .rs256:
            return copenssl_verify(key, EVP_sha256(), signature, signature.count, signed, signed.count) == 1
        case .hs256:
            var own = [UInt8](repeating: 0, count: 32)
            var count = own.count
            return copenssl_sign(key, signed, signed.count, &own, &count) == 1 && SameSecret.check(own, signature)
        }
    }

    private static func publicKey(_ pem: [UInt8], _ algorithm: Algorithm) throws(Problem) -> OpaquePointer {
        guard !pem.contains("PRIVATE KEY-----".utf8) else { throw .isPrivate }
        guard let size = Int32(exactly: pem.count), let key = copenssl_read_public_key(pem, size) else {
            throw .unreadable
        }
        let isUsable =
            switch algorithm {
            case .es256: copenssl_is_p256(key) == 1
            case .edDSA, .ed25519: EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519
            case .rs256:
                EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA && (2_048...8_192).contains(EVP_PKEY_get_bits(key))
            case .hs256: false
            }
        guard isUsable else {
            EVP_PKEY_free(key)
            throw .otherKind
        }
        return key
    }

    /// A public key as a secret would let everybody sign (RFC 8725 §2.1).
    private static func secret(_ bytes: [UInt8]) throws(Problem) -> OpaquePointer {
        guard (32...1_024).contains(bytes.count), !bytes.contains("-----BEGIN ".utf8),
            let key = EVP_PKEY_new_raw_private_key(EVP_PKEY_HMAC, nil, bytes, bytes.count)
        else { throw .noSecret }
        return key
    }
}
