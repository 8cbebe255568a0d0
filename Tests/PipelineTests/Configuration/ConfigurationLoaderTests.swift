import Foundation
import Telemetry
import Testing

@testable import Notifications
@testable import Pipeline

@Suite struct ConfigurationLoaderTests {
    private let home = ["HOME": "/home/test", "KAFKA_BOOTSTRAP_SERVERS": "broker:9092"]

    private func load(
        flags: [(String, String)] = [], environment: [String: String] = [:], file: String? = nil,
        kafkaFile: String? = nil
    ) throws -> LoadedConfiguration {
        var loader = ConfigurationLoader()
        loader.flags = flags.map { .init(name: "--set", key: $0.0, value: $0.1) }
        loader.environment = home.merging(environment) { $1 }
        loader.configurationFile = try file.map(write)
        loader.kafkaFile = try kafkaFile.map(write)
        defer {
            for path in [loader.configurationFile, loader.kafkaFile].compactMap(\.self) {
                try? FileManager.default.removeItem(atPath: path)
            }
        }
        return loader.load()
    }

    private func write(_ text: String) throws -> String {
        let path = FileManager.default.temporaryDirectory.path + "/configuration-\(UUID().uuidString)"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        return path
    }

    private func source(_ key: String, _ loaded: LoadedConfiguration) -> SettingSource? {
        loaded.settings.first { $0.key == key }?.source
    }

    @Test("flags beat the environment, which beats the file, which beats the default")
    func precedence() throws {
        let file = "workers=2\ncommit.interval=20ms\ngroup.id=from-file\n"
        let environment = ["CARILLON_COMMIT_INTERVAL": "30ms", "CARILLON_GROUP_ID": "from-environment"]
        let loaded = try load(flags: [("group.id", "from-flag")], environment: environment, file: file)
        let configuration = try loaded.checked()
        #expect(configuration.groupID == "from-flag")
        #expect(configuration.commitInterval == .milliseconds(30))
        #expect(configuration.workers == 2)
        #expect(configuration.commitMaxEvents == 20_000)
        #expect(source("group.id", loaded) == .flag("--set"))
        #expect(source("commit.interval", loaded) == .environment("CARILLON_COMMIT_INTERVAL"))
        #expect(source("commit.max-events", loaded) == .default)
        guard case .file(_, let line) = source("workers", loaded) else {
            Issue.record("workers came from \(String(describing: source("workers", loaded)))")
            return
        }
        #expect(line == 1)
    }

    @Test("from=-1h is an hour before the start, also in a file")
    func relativeStart() throws {
        var loader = ConfigurationLoader()
        loader.environment = home
        loader.configurationFile = try write("from=-1h\n")
        defer { loader.configurationFile.map { try? FileManager.default.removeItem(atPath: $0) } }
        loader.now = 5_000_000
        #expect(try loader.load().checked().from == .time(1_400_000))
    }

    @Test("librdkafka's settings come from a kcat file, our file, KAFKA_ variables and flags, under one name each")
    func kafkaSettings() throws {
        let kcat =
            "# kcat\nmetadata.broker.list=kcat:1\nsasl.mechanisms = PLAIN\nlinger.ms=7\ntopic.message.timeout.ms=1000\n"
        let file = "kafka.queue.buffering.max.ms=8\nkafka.client.id=shop\n"
        let loaded = try load(
            flags: [("kafka.client.id", "flag")], environment: ["KAFKA_SASL_MECHANISM": "OAUTHBEARER"], file: file,
            kafkaFile: kcat)
        let kafka = try loaded.checked().kafka
        #expect(
            kafka == [
                "bootstrap.servers": "broker:9092", "sasl.mechanism": "OAUTHBEARER", "linger.ms": "8",
                "client.id": "flag",
                "delivery.timeout.ms": "1000",
            ])
    }

    @Test("all problems come at once, each naming where it is, the value and what is allowed")
    func allProblems() throws {
        let file = "workers=0\nnot a line\ncommit.intervall=3s\nsession.timeout=3s\ntime-zone=Europe/Berln\n"
        var loader = ConfigurationLoader()
        loader.configurationFile = try write(file)
        loader.environment = ["HOME": "/home/test", "CARILLON_LOG_LEVEL": "loud"]
        loader.flags = [
            .init(name: "--group", key: "group.id", value: "a/b"),
            .init(name: "--set", key: "linger.ms", value: "5"),
            .init(name: "-X", key: "kafka.linger.ms", value: "abc"),
        ]
        loader.suggest = { _, known in known.first { $0 == "commit.interval" } }
        let path = try #require(loader.configurationFile)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let lines = Set(loader.load().problems.map(\.description))
        let expected: Set = [
            "\(path):1 (workers): '0' is not allowed; it must be a whole number from 1 to 64",
            "\(path):2: the line is not key=value",
            "\(path):3: unknown setting 'commit.intervall'; did you mean commit.interval?",
            "\(path):4 (session.timeout): '3s' is not allowed; it must be a duration from 6s to 30m, such as 10s",
            "\(path):5 (time-zone): 'Europe/Berln' is not a time zone; use a name such as Europe/Berlin",
            "$CARILLON_LOG_LEVEL (log.level): 'loud' is not allowed; it must be one of trace, debug, info, notice, "
                + "warning, error, critical",
            "--group (group.id): 'a/b' is not allowed; it must be letters, digits, '.', '_' and '-', at most 200",
            "--set: unknown setting 'linger.ms'; librdkafka's own settings are written kafka.linger.ms",
        ]
        #expect(lines.isSuperset(of: expected), "\(lines.symmetricDifference(expected))")
        #expect(lines.contains { $0.hasPrefix("-X (kafka.linger.ms): 'abc' is refused by librdkafka: ") })
        #expect(lines.contains { $0.hasPrefix("kafka.bootstrap.servers: no broker is given") })
        #expect(lines.count == expected.count + 2)
    }

    @Test("an unknown variable is ignored and listed; an empty one counts as not set")
    func unknownVariables() throws {
        let environment = [
            "CARILLON_PORT": "tcp://10.0.0.1:80", "KAFKA_HOME": "/opt/kafka", "KAFKA_OPTS": "-X",
            "CARILLON_WORKERS": "",
            "OTHER": "x",
        ]
        let loaded = try load(environment: environment)
        #expect(try loaded.checked().workers == PipelineConfiguration.defaultWorkers)
        #expect(loaded.ignoredVariables == ["CARILLON_PORT", "KAFKA_HOME", "KAFKA_OPTS"])
    }

    @Test("an unknown CARILLON_ variable is warned of, unless Kubernetes made it for a service or a test reads it")
    func variableWarnings() throws {
        let environment = [
            "CARILLON_GROUP": "x", "CARILLON_WORKER": "2", "CARILLON_COLOUR": "red",
            "CARILLON_SERVICE_HOST": "10.0.0.1",
            "CARILLON_PORT_9464_TCP_ADDR": "10.0.0.1", "CARILLON_WEB_SERVICE_PORT": "1", "CARILLON_FAULT_SEED": "1",
            "CARILLON_EMPTY": "", "KAFKA_HOME": "/opt/kafka",
        ]
        #expect(
            try load(environment: environment).warnings == [
                "$CARILLON_COLOUR is no setting and is ignored",
                "$CARILLON_GROUP is no setting and is ignored; did you mean $CARILLON_GROUP_ID?",
                "$CARILLON_WORKER is no setting and is ignored",
            ])
    }

    @Test(
        "a setting that the pipeline decides is refused with what to use instead",
        arguments: [
            ("kafka.group.id", "group.id"), ("kafka.group.instance.id", "instance.id"),
            ("kafka.session.timeout.ms", "session.timeout"), ("kafka.transaction.timeout.ms", "transaction.timeout"),
            ("kafka.auto.offset.reset", "--from"), ("kafka.enable.auto.commit", "transaction"),
            ("kafka.isolation.level", "committed"), ("kafka.transactional.id", "group.id"),
            ("kafka.acks", "replicas"), ("kafka.request.required.acks", "replicas"),
        ])
    func owned(_ key: String, _ instead: String) throws {
        let value = key.hasSuffix("acks") ? "1" : key.hasSuffix("ms") ? "10000" : "x"
        let problems = try load(flags: [(key, value)]).problems.map(\.description)
        #expect(problems.count == 1)
        #expect(problems.first?.contains("cannot be set") == true)
        #expect(problems.first?.contains(instead) == true, "\(problems)")
    }

    @Test("docs/kafka.md 12: cooperative-sticky assignment is refused")
    func cooperative() throws {
        let problems = try load(environment: ["KAFKA_PARTITION_ASSIGNMENT_STRATEGY": "cooperative-sticky"]).problems
        #expect(problems.count == 1)
        #expect(problems.first?.description.contains("range") == true)
    }

    @Test(
        "a secret is in no setting that is shown and in no problem",
        arguments: [
            "sasl.password", "ssl.key.password", "ssl.keystore.password", "ssl.key.pem",
            "sasl.oauthbearer.client.secret",
            "sasl.oauthbearer.config", "sasl.oauthbearer.extensions",
        ])
    func secrets(_ name: String) throws {
        let secret = "hunter2-do-not-show"
        let file = "kafka.\(name)=\(secret)\nkafka.sasl.pasword=\(secret)\nkafka.sasl.password \(secret)\n"
        let loaded = try load(flags: [("kafka.\(name)x", secret)], file: file, kafkaFile: "\(name)=\(secret)\n")
        #expect(!loaded.problems.isEmpty)
        #expect(!"\(loaded.settings)\(loaded.problems)\(loaded.ignoredVariables)".contains(secret))
        #expect(loaded.settings.contains { $0.key == "kafka.\(name)" && $0.value == "<redacted>" })
        // Debian's librdkafka knows OIDC's settings and refuses them.
        if !loaded.problems.contains(where: { $0.message.contains("not supported in this build") }) {
            #expect(try load(file: "kafka.\(name)=\(secret)\n").checked().kafka[name] == secret)
        }
    }

    @Test("a secret that librdkafka refuses is not repeated")
    func refusedSecret() throws {
        let loaded = try load(flags: [("kafka.sasl.oauthbearer.method", "hunter2")])
        #expect(loaded.problems.count == 1)
        #expect(loaded.problems.first?.description.contains("hunter2") == false)
    }

    @Test("a file that is not there is one clear problem")
    func missingFile() {
        var loader = ConfigurationLoader()
        loader.environment = home
        loader.configurationFile = "/nonexistent/carillon.properties"
        #expect(
            loader.load().problems.map(\.description) == ["/nonexistent/carillon.properties: there is no such file"])
    }

    @Test("every documented default is the value's own default")
    func defaults() throws {
        var flags: [(String, String)] = []
        for setting in Setting.all {
            if case .value(let text) = setting.defaultValue { flags.append((setting.key, text)) }
        }
        let given = try load(flags: flags).checked()
        let untouched = try load().checked()
        #expect("\(given)" == "\(untouched)")
    }

    @Test("every setting has a variable of its own, an allowed value and one sentence")
    func registry() {
        #expect(Set(Setting.all.map(\.key)).count == Setting.all.count)
        #expect(Set(Setting.all.map(\.variable)).count == Setting.all.count)
        #expect(Setting.all.allSatisfy { !$0.allowed.isEmpty && !$0.summary.isEmpty })
        #expect(Setting.all.first { $0.key == "topic.dead-letters" }?.variable == "CARILLON_TOPIC_DEAD_LETTERS")
    }

    @Test("every kind of setting reaches its field")
    func fields() throws {
        let zones = try write("7=Asia/Tokyo\n# comment\n8 = Europe/Berlin\n")
        defer { try? FileManager.default.removeItem(atPath: zones) }
        let configuration = try load(flags: [
            ("from", "2026-11-21T10:00:00.5+01:00"), ("static-membership", "false"), ("topic.events", "shop.orders"),
            ("state.dir", "/tmp/x"), ("time-zone", "Europe/Berlin"), ("place-time-zones", "@\(zones)"),
            ("on-missing-order-id", "dead-letter"), ("notification.ttl", "2h"), ("log.format", "json"),
            ("notification.android-priority", "normal"), ("dispatch.headers", "order-id, event-type"),
            ("log.level", "debug"), ("subscriptions.max-age", "30d"), ("instance.id", "b"),
        ]).checked()
        #expect(configuration.from == .time(1_795_251_600_500))
        #expect(!configuration.staticMembership)
        #expect(configuration.topics.events == "shop.orders")
        #expect(configuration.stateDirectory == "/tmp/x")
        #expect(configuration.rules.timeZone == "Europe/Berlin")
        #expect(configuration.rules.placeTimeZones == ["7": "Asia/Tokyo", "8": "Europe/Berlin"])
        #expect(configuration.rules.onMissingOrderID == .deadLetter)
        #expect(configuration.rendering.timeToLive == .seconds(7_200))
        #expect(configuration.rendering.androidPriority == .normal)
        #expect(configuration.rendering.optionalHeaders == [.orderID, .eventType])
        #expect(configuration.logFormat == .json)
        #expect(configuration.logLevel == .debug)
        #expect(configuration.subscriptionsMaxAge == .seconds(30 * 86_400))
        #expect(configuration.instanceID == "b")
    }

    @Test("settings of orders and timers reach their fields")
    func orderFields() throws {
        let configuration = try load(flags: [
            ("schedule.tick", "200ms"), ("schedule.max-lateness", "5m"), ("schedule.spread", "2m"),
            ("schedule.unpicked-statuses", "new, open"), ("state.terminal-statuses", "done"),
            ("state.horizon", "7d"), ("state.terminal-retention", "2h"), ("infer-status-changes", "on"),
        ]).checked()
        var schedule = ScheduleRules()
        schedule.tick = .milliseconds(200)
        schedule.maxLateness = .seconds(300)
        schedule.spread = .seconds(120)
        #expect(configuration.orders.schedule == schedule)
        #expect(configuration.orders.unpickedStatuses == ["new", "open"])
        #expect(configuration.orders.terminalStatuses == ["done"])
        #expect(configuration.orders.horizon == .seconds(7 * 86_400))
        #expect(configuration.orders.terminalRetention == .seconds(7_200))
        #expect(configuration.rules.infersStatusChanges)
        #expect(try load(flags: [("schedule", "off"), ("schedule.tick", "5s")]).checked().orders.schedule == nil)
        #expect(try load(flags: [("schedule.unpicked-statuses", "a,,b")]).problems.count == 1)
    }

    @Test("all zones that are none are named, with their places")
    func zones() throws {
        let loaded = try load(flags: [("time-zone", "Mars/Base"), ("place-time-zones", "7=Asia/Tokio,8=UTC,9=X")])
        #expect(
            loaded.problems.map(\.description) == [
                "--set (time-zone): 'Mars/Base' is not a time zone; use a name such as Europe/Berlin",
                "--set (place-time-zones): 'Asia/Tokio' of place '7' is not a time zone",
                "--set (place-time-zones): 'X' of place '9' is not a time zone",
            ])
    }

    @Test(
        "the state folder is the base, the group and the instance",
        arguments: [
            (["STATE_DIRECTORY": "/var/lib/a:/var/lib/b", "XDG_STATE_HOME": "/x"], "/var/lib/a"),
            (["XDG_STATE_HOME": "/x"], "/x/carillon"),
        ])
    func stateFolder(_ environment: [String: String], _ base: String) throws {
        let loaded = try load(flags: [("group.id", "g"), ("instance.id", "i")], environment: environment)
        #expect(try loaded.checked().stateDirectory == "\(base)/g/i")
    }
}
