import StageSupport
import Testing

@testable import Notifications

@Suite("A subscription")
struct SubscriptionTests {
    private let full = Subscription(
        audience: "place/7", token: "token-1", platform: .apns, app: "com.example.App", environment: .development,
        locale: "de-DE", registeredAt: 0, lastSeenAt: noon)

    @Test("docs/code.md §4: the value has its members in the document's order, the key is audience and SHA-256")
    func encoding() throws {
        var subscription = full
        subscription.token = "00ff"
        let expected = [
            #"{"audience":"place/7","token":"00ff","platform":"apns","app":"com.example.App","#,
            #""environment":"development","locale":"de-DE","registered_at":"1970-01-01T00:00:00.000Z","#,
            #""last_seen_at":"2025-07-07T14:00:00.000Z"}"#,
        ].joined()
        #expect(String(decoding: subscription.encoded(), as: UTF8.self) == expected)
        #expect(
            Subscription.fcm("abc").key
                == "place/7|ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    }

    @Test("an encoded subscription decodes to the same value, with and without the optional members")
    func roundTrip() throws {
        var apns = full
        apns.token = "00ff"
        let odd = Subscription(
            audience: #"user/ä"\/|b"#, token: #"to"k\en/ü"#, platform: .fcm, app: "", registeredAt: nil)
        var installed = Subscription.fcm("t")
        installed.addressKind = .installationID
        for subscription in [apns, odd, .fcm("t"), installed] {
            let decoded = try Subscription.decode(
                key: Array(subscription.key.utf8), value: subscription.encoded())
            #expect(decoded == subscription)
        }
    }

    @Test(
        "docs/rules.md §3: what a token is, is one that its provider has",
        arguments: [
            ("fcm", "apns_token", "address_kind is none of FCM; allowed is registration_token or installation_id"),
            ("apns", "installation_id", "address_kind is none of APNs; allowed is apns_token"),
            (
                "fcm", "token",
                "address_kind is neither registration_token nor installation_id nor apns_token"
            ),
        ])
    func kinds(platform: String, kind: String, problem: String) throws {
        let value = #"""
            {"audience":"user/1","token":"00","platform":"\#(platform)","address_kind":"\#(kind)","app":"a"}
            """#
        let error = #expect(throws: Subscription.Invalid.self) {
            _ = try Subscription.decode(value: Array(value.utf8))
        }
        #expect(error?.problems == [problem])
    }

    @Test(
        "times are ISO 8601 or a number since 1970",
        arguments: [
            (#""2025-07-07T16:00:00+02:00""#, noon), (#""2025-07-07T14:00:00Z""#, noon),
            ("1751896800000", noon), ("1751896800", noon), ("null", nil),
        ] as [(String, WallTime?)])
    func times(text: String, time: WallTime?) throws {
        let value = #"{"audience":"user/1","token":"t","platform":"fcm","last_seen_at":\#(text)}"#
        let subscription = try Subscription.decode(value: Array(value.utf8))
        #expect(subscription.lastSeenAt == time)
    }

    @Test("all problems are reported at once, and none of them quotes the token")
    func allProblems() throws {
        let value = [
            #"{"audience":"shop/1","token":"se cret","platform":"apns","app":7,"environment":"secret","#,
            #""last_seen_at":"2025-02-30T10:00:00Z"}"#,
        ].joined()
        let error = #expect(throws: Subscription.Invalid.self) {
            _ = try Subscription.decode(value: Array(value.utf8))
        }
        let problems = try #require(error).problems
        #expect(problems.count == 7)
        for word in ["app is not", "environment", "last_seen_at", "audience", "whitespace", "hex", "bundle id"] {
            #expect(problems.contains { $0.contains(word) }, "no problem about \(word)")
        }
        #expect(!problems.joined().contains("se cret") && !problems.joined().contains("shop"))
    }

    @Test(
        "docs/rules.md §3: tokens that are refused",
        arguments: [
            "", String(repeating: "t", count: 4_097), "a b", "a\tb", "a\nb", "a\u{0}b", "a\u{7F}b", "a\u{A0}b",
            "a\u{85}b",
            "a\u{2028}b", "\u{3000}",
        ])
    func refusedTokens(token: String) {
        #expect(throws: Subscription.Invalid.self) { try Subscription.fcm(token).validate() }
    }

    @Test(
        "docs/rules.md §3: tokens that are accepted",
        arguments: ["t", String(repeating: "t", count: 4_096), "a:b_-c", "ü"])
    func acceptedTokens(token: String) throws {
        try Subscription.fcm(token).validate()
    }

    @Test("docs/rules.md §3: an APNs token is an even number of hex digits of any length")
    func apnsTokens() throws {
        for token in ["00", "AaFf09", String(repeating: "ab", count: 100)] {
            try Subscription.apns(token).validate()
        }
        for token in ["0", "0g", "00 ", "0x00"] {
            #expect(throws: Subscription.Invalid.self) { try Subscription.apns(token).validate() }
        }
    }

    @Test("§8.2: a device subscribes to its own SHA-256, and to no other's")
    func ownDevice() throws {
        let own = SubscriptionKey.tokenHash(of: "made-up-token")
        try Subscription.fcm("made-up-token", of: "device/\(own)").validate()
        let error = #expect(throws: Subscription.Invalid.self) {
            try Subscription.fcm("another-token", of: "device/\(own)").validate()
        }
        #expect(error?.problems.count == 1 && error?.problems.first?.contains("another token") == true)
        #expect(SubscriptionKey(Array("device/\(own)|\(own)".utf8))?.audience == "device/\(own)")
    }

    @Test(
        "invalid audiences are refused",
        arguments: [
            "", "place/", "place", "Place/7", "shop/7", "place/a\nb", "place/" + String(repeating: "7", count: 1_020),
        ])
    func refusedAudiences(audience: String) {
        #expect(throws: Subscription.Invalid.self) { try Subscription.fcm("t", of: audience).validate() }
    }

    @Test("a key is split into audience and hash, even if the audience contains a bar")
    func key() throws {
        for audience in ["place/7", "user/a|b", "channel/" + String(repeating: "ü", count: 500)] {
            let subscription = Subscription.fcm("t", of: audience)
            let key = try #require(SubscriptionKey(Array(subscription.key.utf8)))
            #expect(key.audience == audience && key.tokenHash == subscription.tokenHash)
            #expect(key.text == subscription.key && key == SubscriptionKey(audience: audience, token: "t"))
        }
    }

    @Test("bytes that are not a subscription's key are refused")
    func noKey() {
        let hash = Subscription.fcm("t").tokenHash
        for text in [
            "", "|", hash, "|\(hash)", "place/|\(hash)", "shop/7|\(hash)", "place/7|\(hash.uppercased())",
            "place/7|\(hash.dropLast())", "place/7|\(hash)0", "place/7|\(hash.dropLast())g", "place/7/\(hash)",
        ] {
            #expect(SubscriptionKey(Array(text.utf8)) == nil, "\(text)")
        }
        #expect(SubscriptionKey(nil) == nil)
        #expect(SubscriptionKey.isTokenHash(hash) && !SubscriptionKey.isTokenHash(hash.uppercased()))
    }

    @Test("a key that does not belong to the value is refused")
    func wrongKey() throws {
        let subscription = Subscription.fcm("t")
        for key in [Subscription.fcm("u").key, Subscription.fcm("t", of: "place/8").key, "t", ""] {
            #expect(throws: Subscription.Invalid.self) {
                _ = try Subscription.decode(key: Array(key.utf8), value: subscription.encoded())
            }
        }
    }

    @Test("other values are refused", arguments: ["", "null", "[]", "7", "{", "{}", #"{"token":null}"#])
    func noSubscription(value: String) {
        #expect(throws: Subscription.Invalid.self) { _ = try Subscription.decode(value: Array(value.utf8)) }
    }
}
