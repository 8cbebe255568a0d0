import Digests
import JSONReader
import Synchronization
import Time

/// Verifies the tokens that a shop's backend signs for its app's users: RFC 7515 and 7519, as RFC 8725 advises.
///
/// Any thread. It is made of one state of the file of issuers: a file that changes gives a new one, which remembers
/// nothing of the old.
package final class TokenVerifier: Sendable {
    /// Of a token, in bytes.
    package static let mostBytes = 8_192
    /// Tokens whose signature is remembered: three quarters of 2^17, as many as a set of 4 MiB holds. With their order they
    /// take 8 MiB at most.
    package static let mostRemembered = 98_304

    private let issuers: IssuerList
    private let accepted: Mutex<AcceptedTokens>

    package init(_ issuers: IssuerList, remembering most: Int = mostRemembered) {
        self.issuers = issuers
        accepted = Mutex(AcceptedTokens(most: most))
    }

    /// Looks at everything each time; only a signature that was right once is not verified again. So it does not matter
    /// whether a token that has expired is still remembered.
    ///
    /// - Parameter token: in the compact form (RFC 7515 §3.1).
    package func verify(_ token: [UInt8], at now: WallTime) throws(TokenRefusal) -> UserToken {
        guard token.count <= Self.mostBytes else { throw .tooLarge }
        let parts = token.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decode(parts[0]), let claims = Base64URL.decode(parts[1]),
            let signature = Base64URL.decode(parts[2])
        else { throw .notCompact }
        let (algorithm, keyID) = try Self.read(header, otherwise: .header, Self.key)
        return try Self.read(claims, otherwise: .claims) { claims throws(TokenRefusal) in
            guard let name = claims.member("iss")?.string else { throw .noIssuer }
            guard let issuer = issuers[Issuer.ID(issuer: Array(name.bytes), keyID: keyID)] else { throw .unknownKey }
            // RFC 8725 §3.1: the key decides, never the token.
            guard algorithm == Array(issuer.key.algorithm.rawValue.utf8) else { throw .algorithm }
            let hash = AcceptedTokens.Hash(token)
            let isKnown = accepted.withLock { $0.contains(hash) }
            guard isKnown || issuer.key.accepts(signature, of: Array(token[..<parts[1].endIndex])) else {
                throw .signature
            }
            let user = try UserToken(claims, issuer, at: now)
            if !isKnown { accepted.withLock { $0.insert(hash) } }
            return user
        }
    }

    /// What would bring or change a key, or says that the claims are something else (RFC 7515 §4.1, RFC 7797 §3). `x5t`
    /// is not among them: it names a key, as .NET does, and here `kid` alone does so.
    private static let refused: [StaticString] = ["crit", "b64", "jku", "jwk", "x5u", "x5c", "cty"]

    /// The header's algorithm and name of a key.
    private static func key(_ header: JSONValue) throws(TokenRefusal) -> (algorithm: [UInt8], id: [UInt8]) {
        guard !refused.contains(where: { header.member($0) != nil }) else { throw .headerMember }
        // RFC 8725 §3.11: a token of another kind.
        if let type = header.member("typ") {
            guard let text = type.string, String(text).lowercased() == "jwt" else { throw .type }
        }
        guard let id = header.member("kid")?.string else { throw .noKeyID }
        guard let algorithm = header.member("alg")?.string else { throw .algorithm }
        return (Array(algorithm.bytes), Array(id.bytes))
    }

    /// - Parameter body: gets an object that has each member once, at all depths; it is valid as long as `body` runs.
    private static func read<Content>(
        _ json: [UInt8], otherwise refusal: TokenRefusal, _ body: (JSONValue) throws(TokenRefusal) -> Content
    ) throws(TokenRefusal) -> Content {
        var reader = JSONReader()
        let result = json.withUnsafeBytes { json -> Result<Content, TokenRefusal> in
            Result { () throws(TokenRefusal) in
                var names: [JSONText] = []
                // The reader would skip a byte order mark.
                guard json.first != 0xEF, let value = try? reader.parse(json), value.isObject,
                    !JSONBody.hasRepeated(value, &names)
                else { throw refusal }
                return try body(value)
            }
        }
        return try result.get()
    }
}
