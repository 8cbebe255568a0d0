import CTLS

/// A private key that was made for one run.
///
/// `@unchecked Sendable`: OpenSSL only reads it once it is made.
package final class StandInKey: @unchecked Sendable {
    package enum Kind { case rsa2048, p256 }

    /// Never changed after `init`: OpenSSL allows any thread to use it.
    let pointer: OpaquePointer

    package init(_ kind: Kind) throws(StandInError) {
        let made =
            switch kind {
            case .rsa2048: ctls_make_rsa_key()
            case .p256: ctls_make_p256_key()
            }
        guard let made else { throw StandInError("OpenSSL makes no key") }
        pointer = made
    }

    deinit {
        EVP_PKEY_free(pointer)
    }

    /// PKCS #8 in PEM, as Google's service accounts and Apple's `.p8` files have it.
    package var pem: String { PEM.text { ctls_write_key(pointer, $0, $1) } }

    /// SubjectPublicKeyInfo in PEM, for those who verify.
    package var publicPEM: String { PEM.text { ctls_write_public_key(pointer, $0, $1) } }

    /// Whether this is the key's signature of the text: RS256, or ES256 with r and s (RFC 7518 §3.4).
    func signed(_ text: Substring.UTF8View, _ signature: [UInt8], es256: Bool) -> Bool {
        let text = Array(text)
        if es256 { return signature.count == 64 && ctls_verifies_es256(pointer, text, text.count, signature) == 1 }
        return ctls_verifies(pointer, text, text.count, signature, signature.count) == 1
    }
}

enum PEM {
    static func text(_ write: (UnsafeMutablePointer<CChar>, Int) -> Int) -> String {
        String(unsafeUninitializedCapacity: 8_192) { buffer in
            buffer.withMemoryRebound(to: CChar.self) { write($0.baseAddress!, $0.count) }
        }
    }
}

/// Why a stand-in cannot start.
package struct StandInError: Error, CustomStringConvertible {
    package var description: String

    init(_ description: String) {
        self.description = description
    }
}
