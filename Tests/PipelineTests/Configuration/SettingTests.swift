import Foundation
import Notifications
import TestSupport
import Testing

@testable import Pipeline

@Suite("Each setting by itself (docs/settings.md)")
struct SettingTests {
    /// What a setting takes, and what it refuses.
    private struct Values {
        var taken: [String]
        var refused: [String]

        init(_ taken: [String], refused: [String]) {
            self.taken = taken
            self.refused = refused
        }

        static let servers = Values(
            ["https://push.example.com", "https://localhost:8443", "https://10.0.0.1", "https://[::1]:443"],
            refused: [
                "", "https://", "http://a.example", "a.example", "https://a.example/", "https://a.example/v1",
                "https://a.example?x=1", "https://a.example#x", "https://user@a.example", "https://a b",
                "https://a.example:", "https://a.example:0", "https://a.example:65536", "https://::1",
                " https://a.example",
            ])
        static let links = Values(
            ["https://shop.example/o/{order_id}#map"],
            refused: [
                "", "http://shop.example/{order_id}", "https://shop.example/",
                "https://shop.example/{order_id}/{order_id}", "https://{order_id}", "https://shop.example/{id}",
                "https://shop.example/{order_id}?t={order_type}",
            ])
        static let statuses = Values(["new, open", "done"], refused: ["", "a,,b", ","])
        static let files = Values([""], refused: ["{}", "types.json", "@/nowhere/types.json"])
    }

    private static let templates = Values(
        ["user/{customer_id}", "place/{place_id}, channel/{tags[*].name}"],
        refused: ["", ",", "place", "place/{place_id},", "team/{id}", "user/{a}, user/{a}"])

    /// Those whose values do not follow from ``Setting/allowed``.
    private static let values = [
        "from": Values(["earliest", "latest", "2026-11-21T10:00:00.5+01:00", "-1h"], refused: ["", "yesterday"]),
        "state.dir": Values(["/tmp/x"], refused: [""]),
        "time-zone": Values(["Europe/Berlin"], refused: ["", "Europe/Berln"]),
        "place-time-zones": Values(["7=Asia/Tokyo,8 = Europe/Berlin"], refused: ["7", "@/nowhere/zones"]),
        "dispatch.headers": Values(["order-id, event-type", "app"], refused: ["colour", "app,colour", "audience"]),
        "http": Values(["127.0.0.1:9464", "[::1]:9464"], refused: ["", "9464", "127.0.0.1", "127.0.0.1:65536"]),
        "schedule.unpicked-statuses": .statuses, "state.terminal-statuses": .statuses,
        "requests.audiences": Values(
            ["", "channel/*, user/*", "place/7"], refused: [",", "team/*", "user", "user/*/x", "channel/a,,b"]),
        "requests.apps": Values(["", "com.example.shop, com.example.staff"], refused: [",", "a,"]),
        "deep-link.food": .links, "deep-link.d2d": .links,
        "delivery.fcm-url": .servers, "delivery.apns-url": .servers,
        "delivery.ca-file": Values([], refused: ["", "/nowhere/ca.pem", "/"]),
        "app-types": .files, "events.members": .files, "events.types": .files, "display.templates": .files,
        "delivery.credentials": .files,
        "api.http": Values(["127.0.0.1:8080", "[::1]:8080"], refused: ["", "8080", "127.0.0.1", "127.0.0.1:65536"]),
        "api.trusted-proxies": Values(
            ["", "127.0.0.1", "10.0.0.0/8, fd00::/8", "::1,0.0.0.0/0"],
            refused: [
                ",", "proxy.example", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/+8", "10.0.0.1/8", "fd00::/129",
                "fd00::1/8",
                "[::1]", "fe80::1%eth0", "127.0.0.1:80", "10.0.0.0/8/8",
            ]),
        "api.keys": Values(["@keys.json"], refused: ["", "keys.json", "@"]),
        "api.issuers": Values(["@issuers.json"], refused: ["", "issuers.json", "@"]),
    ]

    private static func values(of setting: Setting) throws -> Values {
        if let values = Self.values[setting.key] { return values }
        if setting.key == "audiences" || setting.key.hasPrefix("audiences.") { return templates }
        if let match = setting.allowed.wholeMatch(of: /a whole number from (\d+) to (\d+)/) {
            let (least, most) = (try #require(Int(match.1)), try #require(Int(match.2)))
            return Values(["\(least)", "\(most)"], refused: ["\(least - 1)", "\(most + 1)", "", "1.5", "many"])
        }
        if let match = setting.allowed.wholeMatch(of: /a duration from (\w+) to (\w+), such as \w+/) {
            let least = try #require(ConfigurationText.duration(String(match.1)))
            let most = try #require(ConfigurationText.duration(String(match.2)))
            let beyond = [least - .milliseconds(1), most + .milliseconds(1)].map(ConfigurationText.text)
            return Values([String(match.1), String(match.2)], refused: beyond + ["", "1", "1 s"])
        }
        if let match = setting.allowed.wholeMatch(of: /one of (.+)/) {
            return Values(match.1.split(separator: ", ").map(String.init), refused: ["", "other"])
        }
        switch setting.allowed {
        case "true or false": return Values(["true", "false"], refused: ["", "maybe"])
        case "letters, digits, '.', '_' and '-', at most 200":
            return Values(["shop.a_b-1", String(repeating: "x", count: 200)], refused: ["", "a b", "a/b"])
        case "empty, or letters, digits, '.', '_' and '-', at most 200":
            return Values(["", "shop.a_b-1"], refused: ["a b", "a/b", String(repeating: "x", count: 201)])
        default: throw Untested(setting: setting.key)
        }
    }

    private struct Untested: Error {
        var setting: String
    }

    private func draft() throws -> ConfigurationDraft {
        ConfigurationDraft(
            configuration: PipelineConfiguration(kafka: [:], stateDirectory: "", rules: try ExtractionRules()),
            now: 5_000_000)
    }

    @Test("it takes what it allows, its bounds too, and every value but the default changes something")
    func taken() throws {
        for setting in Setting.all {
            var usual = try draft()
            if case .value(let text) = setting.defaultValue { try setting.read(text, &usual) }
            var found: Set = ["\(usual)"]
            let values = try Self.values(of: setting).taken
            for value in values {
                var changed = try draft()
                try setting.read(value, &changed)
                found.insert("\(changed)")
            }
            // At most one of them is the default.
            #expect(found.count >= values.count, "\(setting.key)")
        }
    }

    /// What the rules write does not depend on those that begin with one of these.
    private static let besideRules = [
        "group.id", "instance.id", "workers", "static-membership", "from", "topic.", "state.dir", "schedule.tick",
        "requests.from", "broadcasts.", "deep-link.", "subscriptions.max-lag", "commit.", "transaction.timeout",
        "session.timeout", "shutdown.timeout", "delivery.", "api.", "http", "log.",
    ]
    /// Those of files, and what needs one: their own suites compare the hash.
    private static let filed: Set = ["app-types", "events.members", "events.types", "display", "display.templates"]

    @Test("what the rules write depends on it and so does their hash, or it is named as one of which neither is true")
    func rulesHash() throws {
        for setting in Setting.all where !Self.filed.contains(setting.key) {
            let values = try Self.values(of: setting).taken
            // Some do not fit beside timers.
            let isInHash = try [[:], ["schedule": "off"]].contains { others in
                let usual = try LoadedConfiguration.of(others).checked().rulesHash
                return values.contains { value in
                    let given = try? LoadedConfiguration.of(others.merging([setting.key: value]) { $1 }).checked()
                    return given.map { $0.rulesHash != usual } ?? false
                }
            }
            #expect(isInHash != Self.besideRules.contains { setting.key.hasPrefix($0) }, "\(setting.key)")
        }
    }

    @Test("it refuses anything else, and names itself, the value and what is allowed")
    func refused() throws {
        for setting in Setting.all {
            let refused = try Self.values(of: setting).refused
            #expect(!refused.isEmpty)
            for value in refused {
                let problems = LoadedConfiguration.of([setting.key: value]).problems.map(\.description)
                #expect(problems.count == 1, "\(setting.key)=\(value): \(problems)")
                let begins = "--set (\(setting.key)): '\(value)' "
                #expect(problems.first?.hasPrefix(begins) == true, "\(problems)")
                let reason = problems.first?.dropFirst(begins.count) ?? ""
                #expect(
                    reason.hasPrefix("is not allowed; it must be \(setting.allowed)")
                        || (value.hasPrefix("@") && reason.hasPrefix("cannot be read: "))
                        || (setting.key == "time-zone" && reason.hasPrefix("is not a time zone; ")), "\(problems)")
            }
        }
    }

    @Test("it reaches its own field")
    func fields() throws {
        let loaded = LoadedConfiguration.of([
            "topic.deliveries": "shop.ends", "delivery.in-flight": "7",
            "delivery.window": "65", "delivery.fcm-rate": "61", "delivery.give-up": "2h",
            "delivery.commit-interval": "11ms", "delivery.apns-port": "2197",
            "delivery.fcm-url": "https://f.example", "delivery.apns-url": "https://a.example",
        ])
        let configuration = try loaded.checked()
        let delivery = configuration.delivery
        #expect(configuration.topics.deliveries == "shop.ends")
        #expect(delivery.retryTopics(of: "pushes") == ["pushes.retry.10s", "pushes.retry.1m", "pushes.retry.15m"])
        #expect((delivery.inFlight, delivery.window, delivery.fcmPerMinute) == (7, 65, 61))
        #expect((delivery.longestTry, delivery.commitInterval) == (.seconds(7_200), .milliseconds(11)))
        #expect(delivery.apnsPort == 2_197)
        #expect((delivery.fcmURL, delivery.apnsURL) == ("https://f.example", "https://a.example"))
    }

    @Test("every one that is no network is named")
    func networks() throws {
        let problems = LoadedConfiguration.of(["api.trusted-proxies": "10.0.0.0/8,a,::1,10.1.2.3/8"]).problems
        #expect(problems.map(\.description).first?.hasSuffix("; not 'a', '10.1.2.3/8'") == true, "\(problems)")
    }

    @Test("a file of authorities has a certificate")
    func authorities() throws {
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        for (name, text) in [("ca.pem", "# ours\n-----BEGIN CERTIFICATE-----\n"), ("empty.pem", "")] {
            let path = "\(folder.path)/\(name)"
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            let loaded = LoadedConfiguration.of(["delivery.ca-file": path])
            if text.isEmpty {
                #expect(loaded.problems.count == 1)
            } else {
                #expect(try loaded.checked().delivery.caFile == path)
            }
        }
    }
}
