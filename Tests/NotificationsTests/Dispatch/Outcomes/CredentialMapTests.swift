import Testing

@testable import Notifications

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
