import Digests
import JSONReader
import Notifications
import TestSupport
import Time

@testable import API

/// A shop whose backend signs tokens, with a key of each algorithm.
struct Shop: Sendable {
    static let now: WallTime = 1_764_000_000_000
    static let secret = [UInt8](repeating: 7, count: 32)
    /// RSA keys take a while.
    private static let made = Result {
        try Shop(
            signers: [
                .es256: TokenSigner(.p256), .edDSA: TokenSigner(.ed25519), .ed25519: TokenSigner(.ed25519),
                .rs256: TokenSigner(.rsa(bits: 2_048)), .hs256: TokenSigner(.secret(secret)),
            ])
    }

    let signers: [VerifyingKey.Algorithm: TokenSigner]

    static func shared() throws -> Shop { try made.get() }

    func signer(_ algorithm: VerifyingKey.Algorithm) throws -> TokenSigner {
        guard let signer = signers[algorithm] else { throw TokenRefusal.unknownKey }
        return signer
    }

    /// An entry of the file: its members, as JSON.
    func entry(_ algorithm: VerifyingKey.Algorithm, _ changed: [String: String?] = [:]) throws -> String {
        var members: [String: String?] = [
            "iss": #""https://shop.example""#, "kid": "\"\(algorithm.rawValue)-1\"", "alg": "\"\(algorithm.rawValue)\"",
            "audiences": #"["place/*","channel/General"]"#,
        ]
        if algorithm == .hs256 {
            members["secret_file"] = #""secret""#
        } else {
            members["key"] = Document.text(String(decoding: try signer(algorithm).publicPEM, as: UTF8.self)).json
        }
        return Self.object(members, changed)
    }

    func list(_ entries: [String]) throws -> IssuerList {
        try IssuerList(json: Array("[\(entries.joined(separator: ","))]".utf8)) { _ in Self.secret }
    }

    /// Knows every key of the shop.
    func verifier() throws -> TokenVerifier {
        TokenVerifier(try list(try VerifyingKey.Algorithm.allCases.map { try entry($0) }))
    }

    /// Members whose change is nil are left out.
    static func claims(_ changed: [String: String?] = [:]) -> String {
        let seconds = now.milliseconds / 1_000
        return object(
            [
                "iss": #""https://shop.example""#, "aud": #""carillon""#, "sub": #""17""#, "iat": "\(seconds)",
                "exp": "\(seconds + 3_600)",
            ], changed)
    }

    static func header(_ algorithm: VerifyingKey.Algorithm = .es256, _ changed: [String: String?] = [:]) -> String {
        object(["alg": "\"\(algorithm.rawValue)\"", "kid": "\"\(algorithm.rawValue)-1\"", "typ": #""JWT""#], changed)
    }

    private static func object(_ members: [String: String?], _ changed: [String: String?]) -> String {
        let members = members.merging(changed) { $1 }.compactMapValues(\.self).sorted { $0.key < $1.key }
        return "{" + members.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
    }

    /// A token that its key has signed.
    func token(
        _ algorithm: VerifyingKey.Algorithm = .es256, header: [String: String?] = [:], claims: [String: String?] = [:]
    ) throws -> [UInt8] {
        try signer(algorithm).token(header: Self.header(algorithm, header), claims: Self.claims(claims))
    }
}

extension TokenVerifier {
    /// nil if the token is accepted.
    func refusal(_ token: [UInt8], at now: WallTime = Shop.now) -> TokenRefusal? {
        do throws(TokenRefusal) {
            _ = try verify(token, at: now)
            return nil
        } catch {
            return error
        }
    }
}
