import Testing

@testable import KafkaClient

@Suite("Settings")
struct SettingsTests {
    @Test("the user's settings win over the defaults, and what exactly-once fixes wins over both")
    func merge() throws {
        let merged = try ClientSettings.merged(
            fixed: ClientSettings.consumerFixed, user: ["fetch.wait.max.ms": "10", "fetch.min.bytes": "2"],
            defaults: ClientSettings.consumerDefaults, for: .consumer)
        #expect(merged["fetch.wait.max.ms"] == "10")
        #expect(merged["fetch.min.bytes"] == "2")
        #expect(merged["queued.min.messages"] == "20000")
        #expect(merged["enable.auto.commit"] == "false")
    }

    @Test("docs/kafka.md 12: cooperative assignment is refused, with the reason")
    func cooperative() {
        let error = #expect(throws: KafkaError.self) {
            _ = try Consumer(settings: ["partition.assignment.strategy": "cooperative-sticky"], group: "g")
        }
        #expect(error?.kind == .configuration)
        #expect(error?.recovery == .giveUp)
        #expect(error?.message.contains("range") == true)
    }

    @Test("a setting that Carillon owns is named with its replacement, and one unknown to librdkafka is named too")
    func problems() {
        let problems = ClientSettings.problems(in: [
            "group.id": "g", "fetch.wait.max.ms": "1", "no.such.setting": "1", "linger.ms": "1",
        ])
        #expect(problems.count == 2)
        #expect(problems[0].hasPrefix("group.id cannot be set: use group.id"))
        #expect(problems[1] == "librdkafka has no setting no.such.setting")
    }

    @Test("every setting with a fixed value or a default is one that librdkafka knows")
    func known() {
        let names = [
            Array(ClientSettings.owned.keys), Array(ClientSettings.consumerDefaults.keys),
            Array(ClientSettings.producerDefaults.keys), Array(ClientSettings.transactionDefaults.keys),
            Array(ClientSettings.consumerFixed.keys), Array(ClientSettings.producerFixed.keys),
        ].joined()
        for name in names { #expect(LibrarySettings.scopes[name] != nil, "\(name)") }
    }

    @Test("one file of settings serves both clients: each takes its own, and librdkafka warns about none")
    func scopes() throws {
        let cluster = try MockCluster()
        let settings = Settings.mock(cluster).merging(["linger.ms": "2", "fetch.min.bytes": "1"]) { $1 }
        let lines = LogLines()
        let consumer = try Consumer(assigning: settings, logger: lines.sink)
        let producer = try Producer(settings: settings, logger: lines.sink)
        consumer.close()
        producer.close()
        #expect(lines.all.filter { $0.facility == "CONFWARN" }.map(\.message) == [])
    }

    @Test("a value that librdkafka refuses is an error that names it, and so is an unknown setting")
    func invalid() {
        let error = #expect(throws: KafkaError.self) {
            _ = try Producer(settings: ["security.protocol": "soon", "no.such.setting": "1"])
        }
        #expect(error?.kind == .configuration)
        #expect(error?.message.contains("security.protocol") == true)
        #expect(error?.message.contains("no.such.setting") == true)
    }

    @Test("the versions of librdkafka and OpenSSL are known")
    func versions() {
        #expect(LibraryVersions.librdkafka.contains("."))
        #expect(LibraryVersions.openSSL.hasPrefix("OpenSSL "))
    }

    @Test(
        "a duration becomes whole milliseconds, rounded up and clamped",
        arguments: [
            (.milliseconds(5), 5), (.microseconds(1), 1), (.zero, 0), (.seconds(-1), 0), (.milliseconds(-1), 0),
            (.seconds(3_000_000), Int32.max), (.microseconds(1001), 2),
        ] as [(Duration, Int32)])
    func milliseconds(duration: Duration, expected: Int32) {
        #expect(duration.milliseconds == expected)
    }
}
