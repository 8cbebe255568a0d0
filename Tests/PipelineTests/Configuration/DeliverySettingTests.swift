import Deliveries
import Foundation
import TestSupport
import Testing

@testable import Pipeline

@Suite("The settings of delivery (docs/delivery.md)")
struct DeliverySettingTests {
    private let folder = TemporaryFolder()

    private func load(_ values: [String: String]) -> LoadedConfiguration {
        var loader = ConfigurationLoader()
        loader.flags = values.map { .init(name: "--set", key: $0.key, value: $0.value) }
        loader.environment = ["HOME": "/home/test", "KAFKA_BOOTSTRAP_SERVERS": "broker:9092"]
        return loader.load()
    }

    private func delivery(_ key: String, _ value: String) throws -> DeliveryConfiguration {
        try load([key: value]).checked().delivery
    }

    private func problem(_ key: String, _ value: String) -> String? {
        let problems = load([key: value]).problems
        #expect(problems.count <= 1, "\(problems)")
        return problems.first?.description
    }

    /// The setting, the value and what is allowed.
    private func refusal(_ key: String, _ value: String, _ allowed: String) -> String {
        "--set (\(key)): '\(value)' is not allowed; it must be \(allowed)"
    }

    private func file(_ name: String, _ text: String) throws -> String {
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder.path)/\(name)"))
        return "\(folder.path)/\(name)"
    }

    @Test("the defaults are those of docs/settings.md")
    func defaults() throws {
        let untouched = try load([:]).checked().delivery
        for setting in Setting.delivery {
            switch setting.defaultValue {
            case .value(let text):
                let written = try delivery(setting.key, text)
                #expect("\(written)" == "\(untouched)", "\(setting.key)")
            case .computed, .none: continue
            }
        }
        #expect(untouched.credentials.isEmpty && untouched.apnsURL == nil && untouched.caFile == nil)
    }

    @Test("the topic of outcomes is a name")
    func topic() throws {
        #expect(try load(["topic.deliveries": "shop.ends"]).checked().topics.deliveries == "shop.ends")
        #expect(
            problem("topic.deliveries", "a b")
                == refusal("topic.deliveries", "a b", "letters, digits, '.', '_' and '-', at most 200"))
    }

    @Test("lanes: what is wrong with the rules is said")
    func lanes() throws {
        #expect(try delivery("delivery.lanes", "f:fcm, a:apns").lanes == LaneMap("f:fcm,a:apns"))
        for (value, reason) in [
            ("fcm:fcm", "no lane has all other records of apns: there is no rule for it alone"),
            ("x:sms", "'x:sms' names no platform; allowed are fcm and apns"),
        ] {
            #expect(
                problem("delivery.lanes", value) == refusal("delivery.lanes", value, "\(LaneMap.allowed); \(reason)"))
        }
    }

    @Test("retries: one to six ascending durations")
    func retries() throws {
        for (value, delays): (String, [Duration]) in [
            ("1s", [.seconds(1)]), ("1s,2s, 1h", [.seconds(1), .seconds(2), .seconds(3_600)]),
            ("1500ms,2s,3s,4s,5s,6s", [.milliseconds(1_500)] + (2...6).map { .seconds($0) }),
        ] {
            #expect(try delivery("delivery.retry", value).retries == delays)
        }
        for value in [
            "", ",", "10s,", "10s,,1m", ",10s", "10", "10s 1m", "1m,10s", "10s,10s", "999ms", "61m",
            "1s,2s,3s,4s,5s,6s,7s",
        ] {
            #expect(
                problem("delivery.retry", value)
                    == refusal(
                        "delivery.retry", value,
                        "one to six ascending durations from 1s to 1h with commas between, such as 10s,1m,15m"))
        }
        #expect(
            try delivery("delivery.retry", "1500ms,60s,15m").retryTopics(of: "pushes")
                == ["pushes.retry.1500ms", "pushes.retry.1m", "pushes.retry.15m"])
    }

    @Test("numbers and durations: the bounds are allowed, and what is beyond them is not")
    func bounds() throws {
        let numbers: [(String, KeyPath<DeliveryConfiguration, Int>, ClosedRange<Int>)] = [
            ("delivery.in-flight", \.inFlight, 1...20_000), ("delivery.window", \.window, 64...16_384),
            ("delivery.fcm-rate", \.fcmPerMinute, 60...100_000_000),
        ]
        for (key, path, range) in numbers {
            for number in [range.lowerBound, range.upperBound] {
                #expect(try delivery(key, "\(number)")[keyPath: path] == number)
            }
            let allowed = "a whole number from \(range.lowerBound) to \(range.upperBound)"
            for value in ["\(range.lowerBound - 1)", "\(range.upperBound + 1)", "", "1.5", "many"] {
                #expect(problem(key, value) == refusal(key, value, allowed))
            }
        }
        let durations: [(String, KeyPath<DeliveryConfiguration, Duration>, [String], [String], String)] = [
            (
                "delivery.give-up", \.longestTry, ["1s", "1d"], ["999ms", "25h", "", "1"],
                "a duration from 1s to 1d, such as 1h"
            ),
            (
                "delivery.commit-interval", \.commitInterval, ["10ms", "5s"], ["9ms", "6s", "", "1"],
                "a duration from 10ms to 5s, such as 200ms"
            ),
        ]
        for (key, path, good, bad, allowed) in durations {
            for value in good { #expect(try delivery(key, value)[keyPath: path] == ConfigurationText.duration(value)) }
            for value in bad { #expect(problem(key, value) == refusal(key, value, allowed)) }
        }
    }

    @Test("addresses of providers: https, a host and perhaps a port, and nothing else")
    func urls() throws {
        for url in ["https://push.example.com", "https://localhost:8443", "https://10.0.0.1", "https://[::1]:443"] {
            #expect(try delivery("delivery.fcm-url", url).fcmURL == url)
            #expect(try delivery("delivery.apns-url", url).apnsURL == url)
        }
        for url in [
            "", "https://", "http://a.example", "a.example", "https://a.example/", "https://a.example/v1",
            "https://a.example?x=1", "https://a.example#x", "https://user@a.example", "https://a b",
            "https://a.example:",
            "https://a.example:0", "https://a.example:65536", "https://::1", " https://a.example",
        ] {
            for key in ["delivery.fcm-url", "delivery.apns-url"] {
                #expect(
                    problem(key, url) == refusal(key, url, "https://HOST or https://HOST:PORT, without a path"))
            }
        }
        #expect(try delivery("delivery.apns-port", "2197").apnsPort == 2_197)
        #expect(problem("delivery.apns-port", "80") == refusal("delivery.apns-port", "80", "one of 443, 2197"))
    }

    @Test("a file of authorities that cannot be read, or has no certificate, is refused")
    func authorities() throws {
        let good = try file("ca.pem", "# ours\n-----BEGIN CERTIFICATE-----\n")
        #expect(try delivery("delivery.ca-file", good).caFile == good)
        for path in [folder.path + "/missing", folder.path, "", try file("empty.pem", "")] {
            #expect(
                problem("delivery.ca-file", path)
                    == refusal(
                        "delivery.ca-file", path, "the path of a PEM file with certificates, which can be read"))
        }
    }
}
