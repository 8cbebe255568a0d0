import KafkaClient
import Pipeline

/// The intended configuration of a topic (docs/code.md §4). docs/topics.md lists them.
struct TopicPlan: Sendable {
    enum Role: String, CaseIterable, Sendable {
        case events, requests, subscriptions, dispatch
        case deadLetters = "dead-letters"
        case journal, deliveries, retry, broadcasts
        case broadcastJournal = "broadcast-journal"
        case broadcastDispatch = "broadcast-dispatch"
        case broadcastRetry = "broadcast-retry"
        case control, commands, devices, people, erasures, verdicts, receipts

        /// Whether its number of partitions depends on the load; the others are small.
        var growsWithLoad: Bool {
            switch self {
            case .events, .requests, .subscriptions, .dispatch, .deliveries, .retry: true
            case .broadcastDispatch, .broadcastRetry, .devices, .people, .receipts: true
            case .deadLetters, .journal, .broadcasts, .broadcastJournal, .control: false
            case .commands, .erasures, .verdicts: false
            }
        }
    }

    /// A configuration entry of the topic.
    struct Property: Sendable {
        /// What `topics check` requires of an existing topic.
        enum Rule: Sendable {
            /// The value is used for a new topic; any other is accepted.
            case initial
            case exactly
            /// Any other value is accepted, with a note.
            case advised
            /// Any other bound is accepted; none is not.
            case bounded
            /// -1, unlimited, is more than any number.
            case atLeast(Int64)
            case atMost(Int64)
        }

        var key: String
        var value: String
        var rule: Rule
        var reason: String

        init(_ key: String, _ value: String, _ rule: Rule, _ reason: String) {
            self.key = key
            self.value = value
            self.rule = rule
            self.reason = reason
        }

        /// A number that is also the minimum, or the maximum, that is accepted.
        init(_ key: String, _ value: Int64, _ rule: (Int64) -> Rule, _ reason: String) {
            self.init(key, "\(value)", rule(value), reason)
        }
    }

    var role: Role
    var name: String
    var partitions: Int
    var replicationFactor: Int
    var properties: [Property]
    /// Why it must have this number of partitions, whatever is asked for; nil: it may have another.
    var fixedPartitions: String?

    var newTopic: NewTopic {
        NewTopic(
            name: name, partitions: Int32(partitions), replicationFactor: Int32(replicationFactor),
            configuration: Dictionary(properties.map { ($0.key, $0.value) }) { first, _ in first })
    }
}

extension TopicPlan {
    /// What the plan depends on.
    struct Premises: Sendable {
        /// The topics that grow with the load.
        var partitions = 12
        var replicationFactor = 3
        /// `retention.ms` of the events topic; -1 is unlimited.
        var eventsRetention: Int64 = 30 * day
        /// The retention that timers require of the events topic: twice `state.horizon`, in milliseconds; nil without a
        /// schedule.
        var eventsLeastRetention: Int64? = 28 * day
        /// `max.message.bytes` of the events topic; Kafka's default.
        var eventsMaxMessageBytes: Int64 = 1_048_588
        /// The names of the retry topics; nil where `carillon deliver` has no credentials, and needs no topics.
        var retryTopics: [String]?
        /// The same of broadcasts.
        var broadcastRetryTopics: [String]?
        /// The partitions of the dispatch topic; nil if there is none yet.
        var dispatchPartitions: Int?
        /// `retention.ms` of the dispatch topic; -1 is unlimited.
        var dispatchRetention: Int64 = 3 * day
        /// The same of the dispatch topic of broadcasts.
        var broadcastDispatchRetention: Int64 = 3 * day
    }

    static let day: Int64 = 86_400_000

    /// The plan of every topic; requests, broadcasts, control and commands have theirs where they are read, and what delivery
    /// needs where it has credentials.
    static func all(_ names: PipelineConfiguration.Topics, _ premises: Premises) -> [TopicPlan] {
        standard(names, premises) + (names.requests.isEmpty ? [] : [requests(names, premises)])
            + (names.broadcasts.isEmpty ? [] : broadcasts(names, premises))
            + (names.control.isEmpty ? [] : [control(names, premises)])
            + (names.commands.isEmpty ? [] : registrar(names, premises))
            + (names.receipts.isEmpty ? [] : [receipts(names, premises)])
            + (premises.retryTopics.map { delivery(names, $0, premises) } ?? [])
    }

    private static func requests(_ names: PipelineConfiguration.Topics, _ premises: Premises) -> TopicPlan {
        make(
            .requests, names.requests, premises.partitions, premises,
            [
                .init("cleanup.policy", "delete", .exactly, "each request asks for one notification"),
                .init(
                    "retention.ms", "\(premises.eventsRetention)", .initial,
                    "as long as \(names.events), so that a replay has both"),
                .init(
                    "message.timestamp.after.max.ms", 3_600_000, Property.Rule.atMost,
                    "a record from the future would make the ids of requests expire early"),
                .init("max.message.bytes", "\(premises.eventsMaxMessageBytes)", .initial, "Kafka's default"),
                measured(.advised),
            ])
    }

    private static func standard(_ names: PipelineConfiguration.Topics, _ premises: Premises) -> [TopicPlan] {
        let retention = premises.eventsRetention
        let many = premises.partitions
        let few = min(3, premises.partitions)
        return [
            make(
                .events, names.events, many, premises,
                [
                    .init("cleanup.policy", "delete", .exactly, "the log of events is read again by offset"),
                    .init(
                        "retention.ms", "\(retention)",
                        premises.eventsLeastRetention.map { .atLeast($0) } ?? .initial,
                        "twice state.horizon, from which the state of orders is folded"),
                    .init(
                        "message.timestamp.after.max.ms", 3_600_000, Property.Rule.atMost,
                        "a record from the future would expire the state of orders"),
                    .init("max.message.bytes", "\(premises.eventsMaxMessageBytes)", .initial, "Kafka's default"),
                    measured(.advised),
                ]),
            make(
                .subscriptions, names.subscriptions, many, premises,
                [
                    .init("cleanup.policy", "compact", .exactly, "the newest record of a key is the subscription"),
                    .init(
                        "delete.retention.ms", "\(14 * day)", .atLeast(7 * day),
                        "a stored table older than half of it may have missed an unsubscription"),
                    .init(
                        "min.compaction.lag.ms", max(30 * day, retention), Property.Rule.atLeast,
                        names.broadcasts.isEmpty
                            ? "a replay of the events needs the table as it was"
                            : "a replay of the events needs the table as it was, and broadcasts when each device joined"
                    ),
                    measured(.exactly),
                ] + (names.commands.isEmpty ? [] : [forgetting(max(30 * day, retention) + day)])),
            make(.dispatch, names.dispatch, many, premises, dispatched),
            make(
                .deadLetters, names.deadLetters, few, premises,
                [
                    .init("cleanup.policy", "delete", .exactly, "every dead letter counts"),
                    .init("retention.ms", "\(30 * day)", .initial, "30 days to look at them"),
                    .init(
                        "max.message.bytes", premises.eventsMaxMessageBytes + 65_536, Property.Rule.atLeast,
                        "that of \(names.events) and 64 KiB for the headers"),
                ]),
            make(
                .journal, names.journal, few, premises,
                [
                    .init("cleanup.policy", "delete", .exactly, "every transaction counts"),
                    .init(
                        "retention.ms", retention, Property.Rule.atLeast,
                        "as long as \(names.events): replay needs both"),
                    .init(
                        "message.timestamp.type", "LogAppendTime", .exactly,
                        "by the broker's time a worker knows that its clock is ahead, before a timer goes early"),
                ]),
        ]
    }

    /// What makes the broker measure batches of others by what they hold (ADR 50).
    static func measured(_ rule: Property.Rule) -> Property {
        .init(
            "compression.type", "uncompressed", rule,
            "else nothing bounds the memory that a compressed batch takes from its readers")
    }

    /// What makes a compacted topic forget what was deleted.
    static func forgetting(_ lag: Int64) -> Property {
        .init(
            "max.compaction.lag.ms", "\(lag)", .bounded,
            "without a bound an erased person stays in the log for ever")
    }

    /// The properties of a dispatch topic.
    static var dispatched: [Property] {
        [
            .init("cleanup.policy", "delete", .exactly, "each record is sent once"),
            .init("retention.ms", 3 * day, Property.Rule.atMost, "3 days; the records hold tokens"),
        ]
    }

    static func make(
        _ role: Role, _ name: String, _ partitions: Int, _ premises: Premises, _ properties: [Property]
    ) -> TopicPlan {
        let replicas = Property(
            "min.insync.replicas", Int64(max(1, min(2, premises.replicationFactor - 1))), Property.Rule.atLeast,
            "with it, committed records survive the loss of a broker")
        return TopicPlan(
            role: role, name: name, partitions: partitions, replicationFactor: premises.replicationFactor,
            properties: properties + [replicas])
    }
}
