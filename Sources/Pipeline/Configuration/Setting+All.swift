import Foundation

extension Setting {
    /// Every setting but librdkafka's own, in the order of the documentation. This table drives parsing, `check-config`
    /// and docs/settings.md.
    public static let all: [Setting] =
        identity + topics + state + rules + events + audiences + orders + requests + broadcasts + rendering + fanOut
        + transactions
        + delivery
        + api
        + monitoring
        + logging

    private static let identity: [Setting] = [
        .name("group.id", \.configuration.groupID, default: .value("carillon"), "The consumer group."),
        .name(
            "instance.id", \.configuration.instanceID, default: .computed("the host's name"),
            "This process within its group. Two live processes never share one."),
        .integer(
            "workers", \.configuration.workers, default: .computed("one per core"), 1...64,
            "Threads, each with its own consumer and transactional producer."),
        .boolean(
            "static-membership", \.configuration.staticMembership, default: "true",
            "A worker that comes back within `session.timeout` keeps its partitions; `false` for autoscaling."),
        .custom(
            "from", default: .none, allowed: "earliest, latest, \(GivenTime.allowed)",
            "Where a partition without a committed offset starts. Needed at a group's first start."
        ) { text, draft in
            guard let position = PipelineConfiguration.StartPosition(text, now: draft.now) else { return false }
            draft.configuration.from = position
            return true
        },
    ]

    private static let topics: [Setting] = [
        .name("topic.events", \.configuration.topics.events, default: .value("orders.events"), "Order events, in."),
        .optionalName(
            "topic.requests", \.configuration.topics.requests,
            "Requests for notifications, in; none are read by default."),
        .optionalName(
            "topic.broadcasts", \.configuration.topics.broadcasts,
            "Messages to every device in a channel; there are none by default. `carillon broadcasts` sends them."),
        .optionalName(
            "topic.control", \.configuration.topics.control,
            "What is cancelled and paused, compacted; there is none by default. `carillon deliver` follows it."),
        .optionalName(
            "topic.receipts", \.configuration.topics.receipts,
            "What phones say of pushes; there is none by default. `carillon api` writes it."),
        .optionalName(
            "topic.commands", \.configuration.topics.commands,
            "What is to be changed of devices and people; there is none by default. The role `registrar` decides it."),
        .name(
            "topic.subscriptions", \.configuration.topics.subscriptions, default: .value("notifications.subscriptions"),
            "Who is subscribed to what; compacted."),
        .name(
            "topic.dispatch", \.configuration.topics.dispatch, default: .value("notifications.dispatch"),
            "One record per device, out."),
        .name(
            "topic.dead-letters", \.configuration.topics.deadLetters, default: .value("notifications.dead-letters"),
            "Events that cannot be processed, as they came, with the reason."),
        .name(
            "topic.journal", \.configuration.topics.journal, default: .value("notifications.journal"),
            "One record per transaction: what it covered."),
        .name(
            "topic.deliveries", \.configuration.topics.deliveries, default: .value("notifications.deliveries"),
            "What became of each push, out of `carillon deliver`."),
        .name(
            "topic.devices", \.configuration.topics.devices, default: .value("notifications.devices"),
            "The devices, out of the registrar; compacted."),
        .name(
            "topic.people", \.configuration.topics.people, default: .value("notifications.people"),
            "The people, out of the registrar; compacted."),
        .name(
            "topic.erasures", \.configuration.topics.erasures, default: .value("notifications.erasures"),
            "Who was erased, by a hash, out of the registrar; compacted."),
        .name(
            "topic.verdicts", \.configuration.topics.verdicts, default: .value("notifications.verdicts"),
            "What became of each command, out of the registrar."),
    ]

    private static let state: [Setting] = [
        .custom(
            "state.dir", default: .computed("<base>/<group.id>/<instance.id>"), allowed: "the path of a folder",
            "Folder of the subscriptions table and of what is known of orders and requests. It holds tokens; it is always safe to delete."
        ) { text, draft in
            draft.stateDirectory = text
            return !text.isEmpty
        }
    ]

    private static let rules: [Setting] = [
        .custom(
            "time-zone", default: .value("UTC"), allowed: "a time zone such as Europe/Berlin",
            "The zone whose clock and calendar a payload shows. Times with an offset are converted to it; times without one are kept."
        ) { text, draft in
            draft.timeZone = text
            return true
        },
        .custom(
            "place-time-zones", default: .none, allowed: "place=Zone,… or @FILE with a line place=Zone for each",
            "Zones of individual places, by place id."
        ) { text, draft in
            guard let zones = placeTimeZones(text) else { return false }
            draft.placeTimeZones = zones
            return true
        },
        .choice(
            "on-missing-order-id", \.onMissingOrderID, default: .value("send"),
            "What happens to an event without an order id: sent with an empty id and `x-degraded`, or a dead letter."),
    ]

    private static let broadcasts: [Setting] = [
        .integer(
            "broadcasts.max-late", \.configuration.broadcasts.mostLate, default: .value("10"), 0...1_000,
            "The most broadcasts that a device gets which joins their channel later: the newest that are still valid."),
        .integer(
            "broadcasts.rate", \.configuration.broadcasts.rate, default: .value("0"), 0...10_000_000,
            "The dispatch records of broadcasts a second that a process writes; 0 is no limit. For senders without a limit "
                + "of their own."),
    ]

    private static let fanOut: [Setting] = [
        .duration(
            "subscriptions.max-age", \.configuration.subscriptionsMaxAge, default: "270d", .days(1) ... .days(3_650),
            "A device that was last seen longer ago gets nothing."),
        .duration(
            "subscriptions.max-lag", \.configuration.subscriptionsMaxLag, default: "30s",
            .seconds(1) ... .seconds(3_600),
            "Fan-out pauses when the subscriptions table has lagged behind its topic for this long."),
        .integer(
            "fan-out.max-devices", \.configuration.maxDevicesPerEvent,
            default: .computed("10000 for each second of transaction.timeout, at most 200000"), 1...250_000,
            "An event with more devices becomes a dead letter."),
        .integer(
            "fan-out.max-bytes", \.configuration.maxBytesPerEvent,
            default: .computed("50000000 for each second of transaction.timeout, at most 1000000000"),
            10_000...4_000_000_000, "An event whose pushes have more bytes becomes a dead letter."),
    ]

    private static let transactions: [Setting] = [
        .duration(
            "commit.interval", \.configuration.commitInterval, default: "50ms", .milliseconds(1) ... .seconds(10),
            "A transaction is committed when it is this old."),
        .duration(
            "commit.interval.behind", \.configuration.commitIntervalBehind, default: "500ms",
            .milliseconds(1) ... .seconds(10),
            "Instead of `commit.interval` while a worker is behind: what waits is older than its transaction."),
        .integer(
            "commit.max-events", \.configuration.commitMaxEvents, default: .value("20000"), 1...100_000,
            "A transaction with this many events is committed at once."),
        .integer(
            "commit.max-records", \.configuration.commitMaxRecords, default: .value("50000"), 1...250_000,
            "A transaction with this many dispatch records is committed at once."),
        .duration(
            "transaction.timeout", \.configuration.transactionTimeout, default: "20s", .seconds(1) ... .seconds(900),
            "The broker aborts an older transaction."),
        .duration(
            "session.timeout", \.configuration.sessionTimeout, default: "10s", .seconds(6) ... .seconds(1_800),
            "The broker takes a silent worker's partitions away after this."),
        .duration(
            "shutdown.timeout", \.configuration.shutdownTimeout, default: "10s", .seconds(1) ... .seconds(600),
            "How long a stopping process drains and commits."),
    ]

    private static let monitoring: [Setting] = [
        .custom(
            "http", default: .none, allowed: "host:port, such as 127.0.0.1:9464",
            "Where `/metrics`, `/live` and `/ready` are served; nowhere by default. There is no authentication: restrict who can reach it."
        ) { text, draft in
            draft.configuration.http = ListenAddress(text)
            return draft.configuration.http != nil
        }
    ]

    private static let logging: [Setting] = [
        .choice(
            "log.level", \.configuration.logLevel, default: .value("info"), "What is less severe is not logged."),
        .choice(
            "log.format", \.configuration.logFormat, default: .computed("text on a terminal, else json"),
            PipelineConfiguration.LogFormat.allCases.map { (word: $0.rawValue, value: $0) },
            "The form of log lines on standard error."),
    ]

    /// nil where it is malformed.
    private static func placeTimeZones(_ text: String) -> [String: String]? {
        let file: PropertiesFile
        if text.hasPrefix("@") {
            guard let read = try? PropertiesFile.read(String(text.dropFirst())) else { return nil }
            file = read
        } else {
            file = PropertiesFile(text.split(separator: ",").joined(separator: "\n"))
        }
        guard file.malformed.isEmpty else { return nil }
        return Dictionary(file.lines.map { ($0.key, $0.value) }) { _, last in last }
    }
}
