import COpenSSL
import TestSupport
import Testing

@testable import Digests

@Suite("Signed tokens")
struct SigningKeyTests {
    /// Whether OpenSSL accepts a signature in DER, or of PKCS #1, by the public part of a key.
    private func isValid(_ signature: [UInt8], of signed: [UInt8], by pem: [UInt8]) -> Bool {
        guard let key = copenssl_read_private_key(pem, Int32(pem.count)), let context = EVP_MD_CTX_new() else {
            return false
        }
        defer {
            EVP_MD_CTX_free(context)
            EVP_PKEY_free(key)
        }
        return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
            && EVP_DigestVerify(context, signature, signature.count, signed, signed.count) == 1
    }

    /// r and s as X.509 has them.
    private func der(_ raw: [UInt8]) -> [UInt8] {
        func integer(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
            var digits = Array(bytes.drop { $0 == 0 })
            if digits.isEmpty || digits[0] >= 0x80 { digits.insert(0, at: 0) }
            return [0x02, UInt8(digits.count)] + digits
        }
        let both = integer(raw[..<32]) + integer(raw[32...])
        return [0x30, UInt8(both.count)] + both
    }

    private func parts(_ token: [UInt8]) -> (signed: [UInt8], signature: [UInt8]) {
        let dot = token.lastIndex(of: UInt8(ascii: ".")) ?? 0
        return (Array(token[..<dot]), Base64URL.decode(token[(dot + 1)...]) ?? [])
    }

    @Test("RS256: the same token as another program signs, byte for byte")
    func foreign() throws {
        let parts = TestKeys.foreignToken.split(separator: ".").map { Base64URL.decode($0.utf8) ?? [] }
        let key = try SigningKey(pem: TestKeys.rsa, .rs256)
        let token = try key.token(
            header: String(decoding: parts[0], as: UTF8.self), claims: String(decoding: parts[1], as: UTF8.self))
        #expect(String(decoding: token, as: UTF8.self) == TestKeys.foreignToken)
        #expect(isValid(parts[2], of: self.parts(token).signed, by: TestKeys.rsa))
        #expect(!isValid(parts[2], of: self.parts(token).signed + [0], by: TestKeys.rsa))
    }

    @Test("ES256: r and s of 32 bytes each, also where one is short, and the public key verifies them")
    func elliptic() throws {
        let key = try SigningKey(pem: TestKeys.p256, .es256)
        // One in 128 has an r or an s that begins with a zero byte, which DER leaves out.
        for number in 0..<600 {
            let token = try key.token(header: #"{"alg":"ES256"}"#, claims: #"{"iat":\#(number)}"#)
            let (signed, signature) = parts(token)
            #expect(signature.count == 64)
            guard isValid(der(signature), of: signed, by: TestKeys.p256) else {
                Issue.record("token \(number) is not valid")
                return
            }
            #expect(!isValid(der(signature), of: signed + [0], by: TestKeys.p256))
        }
    }

    @Test("a key of another kind, one that is too short, or a text that is no key is refused")
    func refused() {
        let noKeys = [[], Array("-----BEGIN CERTIFICATE-----\n".utf8), Array(TestKeys.rsa.dropLast(80))]
        for algorithm in SigningKey.Algorithm.allCases {
            for pem in noKeys {
                #expect(throws: SigningKey.Problem.unreadable) { try SigningKey(pem: pem, algorithm) }
            }
        }
        for (pem, algorithm) in [
            (TestKeys.rsa, SigningKey.Algorithm.es256), (TestKeys.p384, .es256), (TestKeys.p256, .rs256),
            (TestKeys.shortRSA, .rs256),
        ] {
            #expect(throws: SigningKey.Problem.otherKind) { try SigningKey(pem: pem, algorithm) }
        }
    }

    @Test("base64url: RFC 4648's examples, every length, and no other character")
    func base64URL() {
        for (text, encoded) in [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg")] {
            #expect(String(decoding: Base64URL.encode(text.utf8), as: UTF8.self) == encoded)
            #expect(Base64URL.decode(encoded.utf8) == Array(text.utf8))
        }
        for count in 0..<300 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 251 &+ count) }
            #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
        }
        #expect(String(decoding: Base64URL.encode([0xFB, 0xFF]), as: UTF8.self) == "-_8")
        for text in ["Z", "Zm9v=", "Zm+v", "Zm/v", "Zm v", "Zm9vY"] { #expect(Base64URL.decode(text.utf8) == nil) }
    }
}
