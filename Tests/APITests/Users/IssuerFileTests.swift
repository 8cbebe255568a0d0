import Digests
import Foundation
import JSONReader
import Notifications
import TestSupport
import Testing

@testable import API

@Suite("API: the file of issuers") struct IssuerFileTests {
    private let folder = TemporaryFolder()
    private let shop: Shop
    private var path: String { folder.path + "/issuers.json" }

    init() throws {
        shop = try Shop.shared()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
    }

    private func write(_ bytes: some Sequence<UInt8>, to name: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: "\(folder.path)/\(name)"))
    }

    private func problems(_ body: () throws(InvalidForm) -> Void) -> [String] {
        do throws(InvalidForm) {
            try body()
            return []
        } catch {
            return error.problems
        }
    }

    private func problems(_ entries: [String], secret: [UInt8] = Shop.secret) -> [String] {
        problems { () throws(InvalidForm) in
            _ = try IssuerList(json: Array("[\(entries.joined(separator: ","))]".utf8)) { _ in secret }
        }
    }

    @Test("all problems of a file are told at once, each with its issuer")
    func allProblems() throws {
        let pem = Document.text(String(decoding: try TokenSigner(.p384).publicPEM, as: UTF8.self)).json
        let es256 = "key 'ES256-1' of 'https://shop.example'"
        let hs256 = "key 'HS256-1' of 'https://shop.example'"
        let entries = [
            "7", try shop.entry(.es256, ["iss": nil, "kid": #""a\u0007""#]),
            try shop.entry(.es256, ["key": pem, "jwks_uri": #""https://shop.example""#, "max_ttl": #""25h""#]),
            try shop.entry(
                .es256, ["kid": #""2""#, "alg": #""none""#, "audiences": #"["user/*","team/7","place/*x"]"#]),
            try shop.entry(.hs256, ["key": pem, "audiences": nil, "apps": "[]"]),
            try shop.entry(.rs256), try shop.entry(.rs256, ["max_ttl": "3600"]), try shop.entry(.rs256),
        ]
        let granted =
            "allowed are those such as place/42, place/* and channel/*: a person's own is always granted, another's never"
        #expect(
            problems(entries) == [
                "issuer 1 is no object", "issuer 2 needs iss, a text that is not empty",
                "issuer 2 has a kid that is not one; allowed are 1 to 256 bytes without control characters",
                "\(es256) has the member 'jwks_uri'; allowed are iss, kid, alg, key, secret_file, max_ttl, audiences, apps",
                "\(es256) has a key that is of another kind; ES256 needs a public key on P-256 in PEM",
                "\(es256) has a max_ttl that is not one; allowed are 1s to 1d",
                "key '2' of 'https://shop.example' has the alg 'none'; allowed are ES256 and EdDSA and Ed25519 and RS256 and HS256",
                "key '2' of 'https://shop.example' has the audience 'user/*'; \(granted)",
                "key '2' of 'https://shop.example' has the audience 'team/7'; \(granted)",
                "key '2' of 'https://shop.example' has the audience 'place/*x'; \(granted)",
                "\(hs256) has key, but HS256 needs secret_file, with a secret of 32 to 1,024 bytes",
                "\(hs256) needs audiences, a list of texts, which may be empty",
                "\(hs256) has apps, which must be a list of texts that are not empty",
                "key 'RS256-1' of 'https://shop.example' has a max_ttl that is not one; allowed are 1s to 1d",
                "it has the key 'RS256-1' of 'https://shop.example' twice",
            ])
    }

    @Test("what is no list of issuers is one problem", arguments: ["", "{}", "null", "[", "[]]"])
    func noList(json: String) {
        #expect(
            problems { () throws(InvalidForm) in _ = try IssuerList(json: Array(json.utf8)) { _ in [] } }.count == 1)
    }

    @Test("a file has at most 1,000 issuers")
    func tooMany() throws {
        func entries(_ count: Int) throws -> [String] {
            try (0..<count).map { try shop.entry(.hs256, ["kid": "\"\($0)\""]) }
        }
        #expect(problems(try entries(1_000)) == [])
        #expect(problems(try entries(1_001)) == ["it has too many issuers; allowed are 1000"])
    }

    @Test("a secret is never the text of an API key or of a public key, nor short, and no problem repeats it")
    func secrets() throws {
        let key = APIKey(.live)
        for (secret, end) in [
            (key.text, "an API key; allowed is a secret that is used for nothing else"),
            (" Bearer \(key.text)\n", "an API key; allowed is a secret that is used for nothing else"),
            (String(repeating: "x", count: 31) + "\n", "a secret of 32 to 1,024 bytes"),
            (String(decoding: try shop.signer(.rs256).publicPEM, as: UTF8.self), "a secret of 32 to 1,024 bytes"),
        ] {
            let found = problems([try shop.entry(.hs256)], secret: Array(secret.utf8))
            #expect(found.count == 1 && found.allSatisfy { $0.hasSuffix(end) && !$0.contains(secret) }, "\(found)")
        }
        let own = Document.text(String(decoding: try shop.signer(.es256).privatePEM, as: UTF8.self)).json
        #expect(
            problems([try shop.entry(.es256, ["key": own])]) == [
                "key 'ES256-1' of 'https://shop.example' has a key that is private, which only who signs may have; "
                    + "ES256 needs a public key on P-256 in PEM"
            ])
    }

    @Test("a line feed at the end of a secret's file is none of the secret")
    func lineFeed() throws {
        let list = try IssuerList(json: Array("[\(try shop.entry(.hs256))]".utf8)) { _ in Shop.secret + [0x0A] }
        #expect(TokenVerifier(list).refusal(try shop.token(.hs256)) == nil)
    }

    @Test(
        "it is taken up again when it changes or a secret beside it does, and only then; a changed file forgets every token"
    )
    func changes() throws {
        var file = IssuerFile(path)
        #expect(
            problems { () throws(InvalidForm) in _ = try file.read() } == [
                "it cannot be read: \(path): No such file or directory"
            ])
        try write("[\(try shop.entry(.hs256))]".utf8, to: "issuers.json")
        let secret =
            "key 'HS256-1' of 'https://shop.example' has a secret_file that cannot be used: it cannot be read: "
        #expect(
            problems { () throws(InvalidForm) in _ = try file.read() }
                == [secret + "\(folder.path)/secret: No such file or directory"])
        try write(Shop.secret, to: "secret")
        let token = try shop.token(.hs256)
        let first = TokenVerifier(try #require(try file.read()))
        #expect(first.refusal(token) == nil)
        #expect(try file.read() == nil)
        try write(Shop.secret + [1], to: "secret")
        let second = TokenVerifier(try #require(try file.read()))
        #expect(second.refusal(token) == .signature)
        #expect(try file.read() == nil)
        try write("[]".utf8, to: "issuers.json")
        #expect(TokenVerifier(try #require(try file.read())).refusal(token) == .unknownKey)
        // The secret is no longer a part of it.
        try write(Shop.secret, to: "secret")
        #expect(try file.read() == nil)
    }
}
