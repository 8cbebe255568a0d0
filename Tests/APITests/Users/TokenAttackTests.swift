import Digests
import TestSupport
import Testing

@testable import API

/// The attacks of RFC 8725 §2, and what RFC 7515 and 7519 do not allow.
@Suite("API: tokens that are forged") struct TokenAttackTests {
    private let shop: Shop
    private let verifier: TokenVerifier

    init() throws {
        shop = try Shop.shared()
        verifier = try shop.verifier()
    }

    private func forged(_ header: String, _ claims: String = Shop.claims(), _ signature: [UInt8] = []) -> [UInt8] {
        TokenSigner.signed(header: header, claims: claims) + [UInt8(ascii: ".")] + Base64URL.encode(signature)
    }

    @Test(
        "a token that the shop has signed is accepted, with each algorithm, and again",
        arguments: VerifyingKey.Algorithm.allCases)
    func accepted(algorithm: VerifyingKey.Algorithm) throws {
        let token = try shop.token(algorithm)
        for _ in 0..<2 {
            let user = try verifier.verify(token, at: Shop.now)
            #expect(user.issuer == "https://shop.example" && user.subject == "17")
        }
    }

    @Test("alg none is refused in every spelling, with and without a signature")
    func none() throws {
        for spelling in ["none", "None", "NONE", "nOnE", "", "none "] {
            let header = Shop.header(.es256, ["alg": "\"\(spelling)\""])
            #expect(verifier.refusal(forged(header)) == .algorithm)
            #expect(verifier.refusal(try shop.token(header: ["alg": "\"\(spelling)\""])) == .algorithm)
        }
        for alg in [nil, "null", "7", #"["ES256"]"#] as [String?] {
            #expect(verifier.refusal(try shop.token(header: ["alg": alg])) == .algorithm)
        }
    }

    @Test("an RSA key's public text is no secret: a token that is signed with it by HS256 is refused")
    func confusion() throws {
        let pem = try shop.signer(.rs256).publicPEM
        for secret in [pem, Array(pem.dropLast())] {
            let thief = try TokenSigner(.secret(secret))
            for (alg, refusal) in [("HS256", TokenRefusal.algorithm), ("RS256", .signature)] {
                let token = try thief.token(header: Shop.header(.rs256, ["alg": "\"\(alg)\""]), claims: Shop.claims())
                #expect(verifier.refusal(token) == refusal)
            }
        }
    }

    @Test("a token never chooses its algorithm: only the one of its key is accepted, letter by letter")
    func algorithms() throws {
        for algorithm in VerifyingKey.Algorithm.allCases {
            let names =
                VerifyingKey.Algorithm.allCases.map(\.rawValue) + ["es256", "RS512", "PS256", "ES384", "ES256K"]
            for name in names where name != algorithm.rawValue {
                #expect(verifier.refusal(try shop.token(algorithm, header: ["alg": "\"\(name)\""])) == .algorithm)
            }
        }
    }

    @Test("a signature of zeros, in DER, shorter, longer, of another curve or key, or none at all is refused")
    func signatures() throws {
        let signer = try shop.signer(.es256)
        let signed = TokenSigner.signed(header: Shop.header(), claims: Shop.claims())
        let right = try signer.sign(signed)
        #expect(verifier.refusal(forged(Shop.header(), Shop.claims(), right)) == nil)
        let wrong: [[UInt8]] = [
            [], [0], [UInt8](repeating: 0, count: 64), [UInt8](repeating: 0, count: 32) + right[32...],
            right[..<32] + [UInt8](repeating: 0, count: 32), try signer.signature(signed), Array(right.dropLast()),
            right + [0], right + right, try TokenSigner(.p384).sign(signed), try TokenSigner(.p256).sign(signed),
            try signer.sign(signed + [0]), try shop.signer(.edDSA).sign(signed),
        ]
        for signature in wrong {
            #expect(verifier.refusal(forged(Shop.header(), Shop.claims(), signature)) == .signature)
        }
    }

    @Test("a header that brings a key, or that says what must be understood, is refused: RFC 7515 §4.1, RFC 7797")
    func headerMembers() throws {
        for (name, value) in [
            ("jwk", #"{"kty":"EC"}"#), ("jku", #""https://thief.example""#), ("x5u", #""https://thief.example""#),
            ("x5c", #"["MII"]"#), ("crit", #"["exp"]"#), ("crit", "[]"), ("b64", "false"), ("b64", "true"),
            ("cty", #""JWT""#), ("jwk", "null"),
        ] {
            #expect(verifier.refusal(try shop.token(header: [name: value])) == .headerMember, "\(name)")
        }
        // A name of a key that is not looked at, and what nobody knows (RFC 7515 §4).
        #expect(verifier.refusal(try shop.token(header: ["x5t": #""abc""#, "shop": "{}"])) == nil)
    }

    @Test("a token of another kind is no token of a person: RFC 8725 §3.11")
    func types() throws {
        for type in ["JWT", "jwt"] { #expect(verifier.refusal(try shop.token(header: ["typ": "\"\(type)\""])) == nil) }
        #expect(verifier.refusal(try shop.token(header: ["typ": nil])) == nil)
        for type in [#""at+jwt""#, #""secevent+jwt""#, #""JOSE""#, #""""#, "null", "1"] {
            #expect(verifier.refusal(try shop.token(header: ["typ": type])) == .type, "\(type)")
        }
    }

    @Test("a member that is there twice is refused in header and claims, at each depth, however it is written")
    func duplicates() throws {
        let signer = try shop.signer(.es256)
        for again in [#""alg":"none""#, #""kid":"other""#, #""\u0061lg":"ES256""#, #""x":1,"x":1"#] {
            let header = String(Shop.header().dropLast() + ",\(again)}")
            #expect(verifier.refusal(try signer.token(header: header, claims: Shop.claims())) == .header)
        }
        for again in [#""sub":"18""#, #""su\u0062":"17""#, #""exp":9999999999"#, #""x":{"y":1,"y":1}"#] {
            let claims = String(Shop.claims().dropLast() + ",\(again)}")
            #expect(verifier.refusal(try signer.token(header: Shop.header(), claims: claims)) == .claims)
        }
    }

    @Test("what is no JSON object is refused: a list, a text, a nested token, a byte order mark, half a document")
    func documents() throws {
        let signer = try shop.signer(.es256)
        let nested = String(decoding: try shop.token(), as: UTF8.self)
        for text in [
            "", "null", "[]", "7", "\"\(nested)\"", nested, "\u{FEFF}{}", "{", "{}{}", "{}\u{0}", "{\"a\":\"\u{1}\"}",
        ] {
            #expect(verifier.refusal(try signer.token(header: text, claims: Shop.claims())) == .header)
            #expect(verifier.refusal(try signer.token(header: Shop.header(), claims: text)) == .claims)
        }
    }

    @Test("only the compact form is read: three parts, nothing before, between or behind them, each in one spelling")
    func form() throws {
        let token = String(decoding: try shop.token(), as: UTF8.self)
        let parts = token.split(separator: ".").map(String.init)
        let json = #"{"payload":"\#(parts[1])","protected":"\#(parts[0])","signature":"\#(parts[2])"}"#
        for wrong in [
            "", ".", "..", token + token, token + "." + token, token + ".", "." + token, token + ".x.y", json,
            parts[0] + "." + parts[1], " " + token, token + " ", token + "\n", token + "=", token + "%",
            "Bearer " + token, parts[0] + "=." + parts[1] + "." + parts[2], token.replacing(".", with: ","),
            parts[0] + ".." + parts[1] + "." + parts[2], token + "\u{0}", token.replacing(".", with: "\u{2024}"),
        ] {
            let refusal = verifier.refusal(Array(wrong.utf8))
            #expect(refusal == .notCompact || wrong == ".." && refusal == .header, "\(wrong)")
        }
        // 64 bytes are 86 characters, whose last has four bits that must be 0.
        let last = try #require(token.last)
        for other in "ABCDQRSTgwxyz0189-_" where other != last {
            #expect(verifier.refusal(Array((token.dropLast() + String(other)).utf8)) != nil)
        }
    }

    @Test("a token of more than 8 KiB is refused before it is read")
    func size() throws {
        func padded(_ count: Int) throws -> [UInt8] {
            try shop.token(claims: ["x": "\"\(String(repeating: "x", count: count))\""])
        }
        var count = 5_700
        while try padded(count + 1).count <= 8_192 { count += 1 }
        #expect(verifier.refusal(try padded(count)) == nil)
        #expect(verifier.refusal(try padded(count + 1)) == .tooLarge)
        #expect(verifier.refusal([UInt8](repeating: UInt8(ascii: "."), count: 8_193)) == .tooLarge)
    }

    @Test("another person's claims before a right signature are refused, also after the token was accepted")
    func substitution() throws {
        let (mine, other) = (try shop.token(), try shop.token(claims: ["sub": #""18""#]))
        #expect(verifier.refusal(mine) == nil && verifier.refusal(other) == nil)
        let (mineParts, otherParts) = (mine.split(separator: 0x2E), other.split(separator: 0x2E))
        let spliced = Array([mineParts[0], otherParts[1], mineParts[2]].joined(separator: [0x2E]))
        #expect(verifier.refusal(spliced) == .signature)
    }

    @Test(
        "iss and kid together name a key: a kid of another issuer is unknown, and one that two have is each one's own")
    func keys() throws {
        let other = #""https://other.example""#
        #expect(verifier.refusal(try shop.token(claims: ["iss": other])) == .unknownKey)
        for kid in [#""es256-1""#, #""ES256-2""#, #""""#] {
            #expect(verifier.refusal(try shop.token(header: ["kid": kid])) == .unknownKey)
        }
        for kid in [nil, "1", "null"] as [String?] {
            #expect(verifier.refusal(try shop.token(header: ["kid": kid])) == .noKeyID)
        }
        for iss in [nil, "1", #"["https://shop.example"]"#] as [String?] {
            #expect(verifier.refusal(try shop.token(claims: ["iss": iss])) == .noIssuer)
        }
        // Both call their key the same; canonically equivalent names are two.
        let both = TokenVerifier(
            try shop.list([
                try shop.entry(.es256, ["kid": #""k\u00e9""#]),
                try shop.entry(.edDSA, ["iss": other, "kid": #""k\u00e9""#]),
            ]))
        let kid = [#""k\u00e9""#, #""ke\u0301""#]
        #expect(both.refusal(try shop.token(header: ["kid": kid[0]])) == nil)
        #expect(both.refusal(try shop.token(.edDSA, header: ["kid": kid[0]], claims: ["iss": other])) == nil)
        #expect(both.refusal(try shop.token(header: ["kid": kid[0]], claims: ["iss": other])) == .algorithm)
        #expect(both.refusal(try shop.token(header: ["kid": kid[1]])) == .unknownKey)
    }
}
