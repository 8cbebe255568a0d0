import Foundation
import TestSupport
import Testing

@testable import Digests

@Suite("Signatures of tokens")
struct VerifyingKeyTests {
    private let text = Array("a text".utf8)

    private func bytes(_ text: String) throws -> [UInt8] { try #require(Base64URL.decode(text.utf8)) }

    /// SubjectPublicKeyInfo as a file has it.
    private func pem(_ der: [UInt8]) -> [UInt8] {
        let lines = Data(der).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return Array("-----BEGIN PUBLIC KEY-----\n\(lines)\n-----END PUBLIC KEY-----\n".utf8)
    }

    private func der(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let count = content.count
        return [tag] + (count < 128 ? [UInt8(count)] : [0x82, UInt8(count >> 8), UInt8(count & 0xFF)]) + content
    }

    private static let p256Prefix: [UInt8] =
        [
            0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48,
            0xCE,
        ]
        + [0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04]
    private static let ed25519Prefix: [UInt8] =
        [0x30, 0x2A, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x03, 0x21, 0x00]
    private static let rsaName: [UInt8] =
        [0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00]

    private func rsa(_ modulus: [UInt8], exponent: [UInt8]) -> [UInt8] {
        let key = der(0x30, der(0x02, [0] + modulus) + der(0x02, exponent))
        return pem(der(0x30, Self.rsaName + der(0x03, [0] + key)))
    }

    private let modulus =
        "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZ"
        + "S-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2"
        + "R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcD"
        + "TW9gb54h4FRWyuXpoQ"

    @Test("RFC 7515, A.1 to A.3, and RFC 8037, A.4: their keys accept their signatures, and of these bytes alone")
    func vectors() throws {
        let claims =
            "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
        let secret =
            try bytes("AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow")
        let point =
            try bytes("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU")
            + bytes("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0")
        let edwards = try pem(Self.ed25519Prefix + bytes("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"))
        let example = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc"
        let edwardsSignature =
            "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
        let rsaSignature =
            "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CU"
            + "Ar7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_d"
            + "O--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0ig"
            + "cN_IoypGlUPQGe77Rw"
        for (key, algorithm, signed, signature) in [
            (
                secret, VerifyingKey.Algorithm.hs256, "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.\(claims)",
                "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
            ),
            (
                rsa(try bytes(modulus), exponent: [1, 0, 1]), .rs256, "eyJhbGciOiJSUzI1NiJ9.\(claims)", rsaSignature
            ),
            (
                pem(Self.p256Prefix + point), .es256, "eyJhbGciOiJFUzI1NiJ9.\(claims)",
                "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
            ),
            (edwards, .edDSA, example, edwardsSignature), (edwards, .ed25519, example, edwardsSignature),
        ] {
            let key = try VerifyingKey(key, algorithm)
            let signature = try bytes(signature)
            #expect(key.accepts(signature, of: Array(signed.utf8)), "\(algorithm)")
            #expect(!key.accepts(signature, of: Array(signed.utf8) + [0]), "\(algorithm)")
            #expect(!key.accepts(signature, of: []), "\(algorithm)")
        }
    }

    @Test(
        "what a key has signed it accepts, and no signature that is shorter, longer, changed by a bit, or another key's"
    )
    func signatures() throws {
        let secret = Array(repeating: UInt8(7), count: 32)
        for (kind, algorithm) in [
            (TokenSigner.Kind.p256, VerifyingKey.Algorithm.es256), (.ed25519, .edDSA), (.rsa(bits: 2_048), .rs256),
            (.secret(secret), .hs256),
        ] {
            let signer = try TokenSigner(kind)
            let key = try VerifyingKey(algorithm == .hs256 ? secret : signer.publicPEM, algorithm)
            let signature = try signer.sign(text)
            #expect(key.accepts(signature, of: text))
            #expect(!key.accepts([], of: text))
            #expect(!key.accepts(signature + [0], of: text) && !key.accepts([0] + signature, of: text))
            for count in [1, 31, 32, 63] { #expect(!key.accepts(Array(signature.dropLast(count)), of: text)) }
            for index in signature.indices {
                var changed = signature
                changed[index] ^= 1 << UInt8(index % 8)
                #expect(!key.accepts(changed, of: text), "\(algorithm), byte \(index)")
            }
            let other = try TokenSigner(algorithm == .hs256 ? .secret(secret + [0, 1]) : kind)
            #expect(!key.accepts(try other.sign(text), of: text))
        }
    }

    @Test("ES256: r and s of 0, of the curve's order and above are refused, and so is a signature in DER")
    func elliptic() throws {
        let signer = try TokenSigner(.p256)
        let key = try VerifyingKey(signer.publicPEM, .es256)
        let zero = [UInt8](repeating: 0, count: 32)
        let one = zero.dropLast() + [1]
        let order = try bytes("_____wAAAAD__________7zm-q2nF56E87nKwvxjJVE")
        let all = [UInt8](repeating: 0xFF, count: 32)
        let right = try signer.sign(text)
        let values = [zero, Array(one), order, all, Array(right[..<32]), Array(right[32...])]
        for (first, r) in values.enumerated() {
            for (second, s) in values.enumerated() {
                #expect(key.accepts(r + s, of: text) == (first == 4 && second == 5), "\(first), \(second)")
            }
        }
        #expect(!key.accepts(try signer.signature(text), of: text))
        #expect(!key.accepts(try TokenSigner(.p384).sign(text), of: text))
    }

    @Test("ES256: r and s that begin with zeros are accepted")
    func short() throws {
        let signer = try TokenSigner(.p256)
        let key = try VerifyingKey(signer.publicPEM, .es256)
        for _ in 0..<600 { #expect(key.accepts(try signer.sign(text), of: text)) }
    }

    @Test("a private key, one of another kind or curve, one that is too short, an unsound one, and no key are refused")
    func refusedKeys() throws {
        let (p256, p384, rsa) = (try TokenSigner(.p256), try TokenSigner(.p384), try TokenSigner(.rsa(bits: 1_024)))
        let edwards = try TokenSigner(.ed25519)
        let modulus = try bytes(modulus)
        let infinity = der(0x30, Self.p256Prefix[2..<23] + der(0x03, [0, 0]))
        let beside = Self.p256Prefix + [UInt8](repeating: 1, count: 64)
        for (pem, algorithm, problem) in [
            (p256.privatePEM, VerifyingKey.Algorithm.es256, VerifyingKey.Problem.isPrivate),
            (p256.publicPEM + p256.privatePEM, .es256, .isPrivate), (TestKeys.rsa, .rs256, .isPrivate),
            (edwards.privatePEM, .edDSA, .isPrivate), (p384.publicPEM, .es256, .otherKind),
            (p256.publicPEM, .edDSA, .otherKind), (edwards.publicPEM, .es256, .otherKind),
            (p256.publicPEM, .rs256, .otherKind), (rsa.publicPEM, .rs256, .otherKind), ([], .es256, .unreadable),
            (Array(p256.publicPEM.dropLast(60)), .es256, .unreadable), (pem(infinity), .es256, .unreadable),
            (pem(beside), .es256, .unreadable), (self.rsa(modulus, exponent: [1]), .rs256, .unreadable),
            (Array("-----BEGIN CERTIFICATE-----\n".utf8), .rs256, .unreadable),
        ] {
            #expect(throws: problem, "\(algorithm)") { try VerifyingKey(pem, algorithm) }
        }
    }

    @Test("HS256: a secret of fewer than 32 bytes or more than 1,024, and the text of a key, are refused")
    func refusedSecrets() throws {
        for bytes in [[], [UInt8](repeating: 1, count: 31), [UInt8](repeating: 1, count: 1_025)] {
            #expect(throws: VerifyingKey.Problem.noSecret) { try VerifyingKey(bytes, .hs256) }
        }
        #expect(throws: VerifyingKey.Problem.noSecret) {
            try VerifyingKey(try TokenSigner(.p256).publicPEM, .hs256)
        }
        for count in [32, 1_024] { _ = try VerifyingKey([UInt8](repeating: 1, count: count), .hs256) }
    }

    @Test("base64url: bits that are left over must be 0, so that no bytes have two texts")
    func canonical() {
        for text in ["Zh", "Zm9", "Zm9vZm9", "AB"] { #expect(Base64URL.decode(text.utf8) == nil, "\(text)") }
        for text in ["Zg", "Zm8", "AA"] { #expect(Base64URL.decode(text.utf8) != nil, "\(text)") }
    }
}
