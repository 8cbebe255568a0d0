import Subscriptions
import Testing

@testable import Deliveries

@Suite("Lanes")
struct LaneMapTests {
    private func problem(_ text: String) -> String? {
        do {
            _ = try LaneMap(text)
            return nil
        } catch {
            return error.description
        }
    }

    @Test("by default a lane for each provider")
    func standard() throws {
        #expect(LaneMap.standard.lanes == ["apns", "fcm"])
        #expect(LaneMap.standard.lane(.fcm, app: nil, nil) == "fcm")
        #expect(LaneMap.standard.lane(.apns, app: "a", .development) == "apns")
        #expect(try LaneMap("fcm:fcm, apns:apns") == .standard)
    }

    @Test("every platform, app and environment belongs to exactly one: the most specific rule counts")
    func specific() throws {
        let map = try LaneMap(
            "f:fcm, big:fcm/com.big, a:apns, sandbox:apns/*/development, b:apns/com.big, bs:apns/com.big/development")
        let cases: [(Platform, String?, PushEnvironment?, String)] = [
            (.fcm, nil, nil, "f"), (.fcm, "x", nil, "f"), (.fcm, "com.big", nil, "big"), (.apns, "x", .production, "a"),
            (.apns, "x", .development, "sandbox"), (.apns, "com.big", .production, "b"),
            (.apns, "com.big", .development, "bs"),
        ]
        for (platform, app, environment, lane) in cases {
            #expect(map.lane(platform, app: app, environment) == lane)
        }
        #expect(map.lanes == ["a", "b", "big", "bs", "f", "sandbox"])
    }

    @Test("what is no map: the rule and what is allowed")
    func errors() {
        let cases = [
            ("fcm:fcm", "no lane has all other records of apns: there is no rule for it alone"),
            ("x:fcm, apns:apns, y:fcm", "'y:fcm' and 'x:fcm' are about the same records"),
            ("fcm:fcm/a/production, fcm:fcm, apns:apns", "'fcm:fcm/a/production' has an environment; FCM has only one"),
            ("apns:apns/a/test", "'apns:apns/a/test' names no environment; allowed are production and development"),
            ("x:sms", "'x:sms' names no platform; allowed are fcm and apns"),
            ("a:apns//production", "'a:apns//production' has an empty app; allowed is * for every app"),
            ("fcm", "'fcm' is no rule; allowed are \(LaneMap.allowed)"),
            ("", "'' is no rule; allowed are \(LaneMap.allowed)"),
            ("a b:fcm", "'a b:fcm' is no rule; allowed are \(LaneMap.allowed)"),
        ]
        for (text, message) in cases { #expect(problem(text) == message) }
    }

    @Test("the hash changes with the map, and not with the order of its rules")
    func hash() throws {
        let hash = try LaneMap("fcm:fcm, apns:apns").hash
        #expect(hash.count == 8 && hash == LaneMap.standard.hash)
        #expect(try LaneMap(" apns:apns ,fcm:fcm").hash == hash)
        for text in [
            "fcm2:fcm, apns:apns", "fcm:fcm, apns:apns, fcm:fcm/a", "fcm:fcm, apns:apns, fcm:apns/*/development",
        ] {
            #expect(try LaneMap(text).hash != hash)
        }
    }
}

@Suite("Which credential sends")
struct CredentialMapTests {
    @Test("the app's own credential, otherwise the one for every app; without an app the only one")
    func lookup() throws {
        let map = try CredentialMap([
            .init("shop", .fcm, apps: ["com.shop"]), .init("rest", .fcm),
            .init("team", .apns, apps: ["com.shop"], environments: [.production]),
            .init("test", .apns, apps: ["com.shop"], environments: [.development]),
        ])
        let cases: [(Platform, String?, PushEnvironment?, Int?)] = [
            (.fcm, "com.shop", nil, 0), (.fcm, "com.other", nil, 1), (.fcm, nil, nil, nil), (.fcm, "", nil, nil),
            (.apns, "com.shop", .production, 2), (.apns, "com.shop", .development, 3),
            (.apns, "com.x", .production, nil),
        ]
        for (platform, app, environment, index) in cases {
            #expect(map.credential(platform, app: app, environment) == index)
        }
        let one = try CredentialMap([.init("shop", .fcm, apps: ["com.shop"])])
        #expect(one.credential(.fcm, app: nil, nil) == 0 && one.credential(.fcm, app: "com.x", nil) == nil)
        #expect(one.credential(.apns, app: "com.shop", .production) == nil)
    }

    @Test("two credentials for the same records, or of one name, are refused")
    func errors() {
        let cases: [([CredentialMap.Entry], String)] = [
            ([.init("a", .fcm, apps: ["x"]), .init("a", .apns)], "two credentials are named 'a'"),
            (
                [.init("a", .fcm, apps: ["x"]), .init("b", .fcm, apps: ["y", "x"])],
                "the credentials 'a' and 'b' both have the app 'x'"
            ),
            (
                [.init("a", .apns), .init("b", .apns, environments: [.production])],
                "the credentials 'a' and 'b' of apns both have every app; allowed is one, and apps for the others"
            ),
        ]
        for (entries, message) in cases {
            do {
                _ = try CredentialMap(entries)
                Issue.record("\(message)")
            } catch {
                #expect(error.description == message)
            }
        }
    }
}

@Suite("Which credentials a lane has")
struct LaneCredentialsTests {
    private func names(_ lanes: String, _ entries: [CredentialMap.Entry]) throws -> [String: [String]] {
        let map = try CredentialMap(entries)
        return try LaneMap(lanes).credentials(of: map).mapValues { $0.sorted().map { map.entries[$0].name } }
    }

    @Test("a lane has every credential that one of its records would be sent with, and no other")
    func lanes() throws {
        let shop = CredentialMap.Entry("shop", .fcm, apps: ["com.shop"])
        let rest = CredentialMap.Entry("rest", .fcm)
        let live = CredentialMap.Entry("live", .apns, apps: ["com.shop"], environments: [.production])
        let test = CredentialMap.Entry("test", .apns, environments: [.development])
        #expect(try names("fcm:fcm, apns:apns", []) == ["fcm": [], "apns": []])
        #expect(try names("fcm:fcm, apns:apns", [shop]) == ["fcm": ["shop"], "apns": []])
        #expect(
            try names("fcm:fcm, apns:apns", [shop, rest, live, test])
                == ["fcm": ["shop", "rest"], "apns": ["live", "test"]])
        #expect(
            try names(
                "fcm:fcm, shop:fcm/com.shop, apns:apns, sandbox:apns/*/development", [shop, rest, live, test])
                == ["fcm": ["rest"], "shop": ["shop"], "apns": ["live"], "sandbox": ["test"]])
        // Two lanes share the credential of all other apps.
        #expect(
            try names("fcm:fcm, b:fcm/com.b, all:apns", [shop, rest, live])
                == ["fcm": ["shop", "rest"], "b": ["rest"], "all": ["live"]])
        // The only credential also sends what does not say its app, which is the other lane's.
        #expect(
            try names("fcm:fcm, shop:fcm/com.shop, apns:apns", [shop]) == [
                "fcm": ["shop"], "shop": ["shop"], "apns": [],
            ])
        #expect(
            try names("one:fcm, one:apns, other:apns/com.other", [rest, live])
                == ["one": ["rest", "live"], "other": []])
    }
}
