import Testing
import Time

@testable import API

@Suite("API: what a person's token says") struct UserTokenTests {
    private let shop: Shop
    private let verifier: TokenVerifier
    private let seconds = Shop.now.milliseconds / 1_000

    init() throws {
        shop = try Shop.shared()
        verifier = try shop.verifier()
    }

    private func refusal(_ claims: [String: String?], at now: WallTime = Shop.now) throws -> TokenRefusal? {
        verifier.refusal(try shop.token(claims: claims), at: now)
    }

    @Test("its claims are given as they are")
    func claims() throws {
        let device = "0123456789abcdef-_AZ"
        let token = try shop.token(claims: [
            "device": "\"\(device)\"", "audiences": #"["place/42"]"#, "iat": "\(seconds).5", "name": #""Ada""#,
        ])
        let user = try verifier.verify(token, at: Shop.now)
        #expect(user.issuedAt == Shop.now + 500 && user.expires == Shop.now + 3_600_000)
        #expect(user.subject == "17" && user.device?.text == device && user.audiences == ["place/42"])
        #expect(try verifier.verify(token, at: Shop.now + 1) == user)
        #expect(try verifier.verify(try shop.token(), at: Shop.now).device == nil)
    }

    @Test("aud is carillon, or a list of texts with it: RFC 7519 §4.1.3")
    func audience() throws {
        for aud in [#""carillon""#, #"["carillon"]"#, #"["shop","carillon"]"#] {
            #expect(try refusal(["aud": aud]) == nil, "\(aud)")
        }
        for aud in [
            nil, #""shop""#, #""Carillon""#, #""carillon ""#, #""carillon,shop""#, "[]", #"["shop"]"#,
            #"["carillon",7]"#,
            #"[["carillon"]]"#, #"{"carillon":1}"#, "null", "true",
        ] as [String?] {
            #expect(try refusal(["aud": aud]) == .audience, "\(aud ?? "none")")
        }
    }

    @Test("it holds until 120 s after exp, and not at that instant, also where it was accepted before")
    func expiry() throws {
        let token = try shop.token()
        let end = Shop.now + 3_600_000 + 120_000
        for (now, refusal) in [
            (Shop.now, nil), (end - 1, nil), (end, TokenRefusal.expired), (end + 1, .expired),
            (.distantFuture, .expired),
            (Shop.now, nil),
        ] as [(WallTime, TokenRefusal?)] {
            #expect(verifier.refusal(token, at: now) == refusal, "\(now)")
        }
        #expect(try refusal(["exp": "\(seconds + 3_600).25"], at: end + 249) == nil)
        #expect(try refusal(["exp": "\(seconds + 3_600).25"], at: end + 250) == .expired)
    }

    @Test("iat and nbf may be 120 s ahead of the present time, and no more")
    func begin() throws {
        for (ahead, expected) in [(0, nil), (120, nil), (121, TokenRefusal.tooEarly)] as [(Int64, TokenRefusal?)] {
            #expect(try refusal(["iat": "\(seconds + ahead)"]) == expected)
            #expect(try refusal(["nbf": "\(seconds + ahead)"]) == expected)
        }
        #expect(verifier.refusal(try shop.token(), at: Shop.now - 120_000) == nil)
        #expect(verifier.refusal(try shop.token(), at: Shop.now - 120_001) == .tooEarly)
        #expect(verifier.refusal(try shop.token(), at: .distantPast) == .tooEarly)
    }

    @Test("a time is a number of seconds from 1970 to 9999, and iat and exp are needed: RFC 7519 §2")
    func times() throws {
        let wrong = [
            #""\#(seconds)""#, "null", "true", "[]", "-1", "-0.5", "253402300800", "1e300", "9223372036854775807",
            "18446744073709551615",
        ]
        for name in ["iat", "exp", "nbf"] {
            for value in wrong { #expect(try refusal([name: value]) == .time, "\(name): \(value)") }
        }
        #expect(try refusal(["iat": nil]) == .time && refusal(["exp": nil]) == .time)
        #expect(try refusal(["nbf": "0"]) == nil)
        #expect(try refusal(["iat": "1.764e9"]) == nil)
    }

    @Test("exp is after iat, by the issuer's max_ttl at most, which is 24 h where the file says nothing")
    func lifetime() throws {
        let short = TokenVerifier(try shop.list([try shop.entry(.es256, ["max_ttl": #""5m""#])]))
        for (verifier, most) in [(verifier, 86_400), (short, 300)] as [(TokenVerifier, Int64)] {
            for (life, refusal) in [
                (most, nil), (most + 1, TokenRefusal.lifetime), (0, .lifetime), (-1, .lifetime), (1, nil),
            ] as [(Int64, TokenRefusal?)] {
                #expect(verifier.refusal(try shop.token(claims: ["exp": "\(seconds + life)"])) == refusal, "\(life)")
            }
        }
        #expect(try refusal(["exp": "253402300799"]) == .lifetime)
    }

    @Test("sub is the id of a person as audiences have it")
    func subject() throws {
        let long = String(repeating: "x", count: 1_019)
        for sub in ["17", "a/b", "é", " ", "*", long] {
            #expect(try refusal(["sub": "\"\(sub)\""]) == nil, "\(sub)")
        }
        for sub in [nil, "17", "null", #""""#, #""1\u0000""#, #""a\nb""#, #""\u007f""#, "\"\(long)x\""] as [String?] {
            #expect(try refusal(["sub": sub]) == .subject, "\(sub ?? "none")")
        }
    }

    @Test("device is the id of a device, where it is there")
    func device() throws {
        let id = String(repeating: "a", count: 16)
        for device in ["\"\(id)\"", "\"\(id + id + id + id)\""] { #expect(try refusal(["device": device]) == nil) }
        for device in [
            "null", "7", #""""#, "\"\(id.dropLast())\"", "\"\(id + id + id + id)a\"", "\"\(id)/\"", "\"\(id)é\"",
            "\"\(id) \"",
        ] {
            #expect(try refusal(["device": device]) == .device, "\(device)")
        }
    }

    @Test("audiences are at most 200, each exact or with * at its end")
    func audiences() throws {
        func list(_ count: Int) -> String { "[" + (0..<count).map { "\"place/\($0)\"" }.joined(separator: ",") + "]" }
        for audiences in ["[]", list(200), #"["user/18","user/*","device/*","place/","channel/*"]"#] {
            #expect(try refusal(["audiences": audiences]) == nil)
        }
        for audiences in [
            list(201), "null", #""place/42""#, "{}", "[7]", #"["*"]"#, #"["pla*"]"#, #"["team/7"]"#, #"["place/*x"]"#,
            #"["place/4**"]"#, #"[["place/42"]]"#, #"[""]"#,
        ] {
            #expect(try refusal(["audiences": audiences]) == .audiences, "\(audiences)")
        }
    }

    @Test("it grants what both its claims and its issuer allow, its own person, no other, and no device")
    func grants() throws {
        let hash = String(repeating: "a", count: 64)
        func permitted(_ audiences: String?, sub: String = "17") throws -> [String] {
            let user = try verifier.verify(
                try shop.token(claims: ["audiences": audiences, "sub": "\"\(sub)\""]), at: Shop.now)
            return [
                "place/42", "place/421", "place/", "place/é", "place/e\u{301}", "channel/General", "channel/Staff",
                "user/17",
                "user/170", "user/*", "user/", "device/\(hash)", "team/7", "place/4\n", "",
            ].filter(user.permits(audience:))
        }
        #expect(try permitted(nil) == ["user/17"])
        #expect(
            try permitted(#"["place/42","channel/*","user/*","device/*"]"#) == [
                "place/42", "channel/General", "user/17",
            ])
        #expect(try permitted(#"["place/4*","user/170"]"#, sub: "*") == ["place/42", "place/421", "user/*"])
        #expect(try permitted(#"["place/é"]"#) == ["place/é", "user/17"])
        let none = TokenVerifier(
            try shop.list([try shop.entry(.es256, ["audiences": "[]", "apps": #"["com.example.shop"]"#])]))
        let user = try none.verify(try shop.token(claims: ["audiences": #"["place/*"]"#]), at: Shop.now)
        #expect(!user.permits(audience: "place/42") && user.permits(audience: "user/17"))
        #expect(user.permits(app: "com.example.shop") && !user.permits(app: "com.example.other"))
        #expect(try verifier.verify(try shop.token(), at: Shop.now).permits(app: "com.example.other"))
    }
}
