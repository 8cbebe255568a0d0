import Pipeline
import Testing

@testable import KafkaClient
@testable import carillon

@Suite struct TopicPlanTests {
    private let names = PipelineConfiguration.Topics()
    private var namesWithRequests: PipelineConfiguration.Topics {
        var names = names
        names.requests = "notifications.requests"
        return names
    }

    private var namesWithBroadcasts: PipelineConfiguration.Topics {
        var names = namesWithRequests
        names.broadcasts = "notifications.broadcasts"
        return names
    }

    private var namesWithAll: PipelineConfiguration.Topics {
        var names = namesWithBroadcasts
        names.control = "notifications.control"
        names.commands = "notifications.commands"
        names.receipts = "notifications.receipts"
        return names
    }

    private let retryTopics = ["notifications.dispatch.retry.10s", "notifications.dispatch.retry.1m"]

    private let broadcastRetryTopics = ["notifications.dispatch.broadcasts.retry.10s"]

    private func plan(_ role: TopicPlan.Role, _ premises: TopicPlan.Premises = .init()) throws -> TopicPlan {
        try #require(TopicPlan.all(names, premises).first { $0.role == role })
    }

    private func settings(_ role: TopicPlan.Role, _ premises: TopicPlan.Premises = .init()) throws -> [String: String] {
        try plan(role, premises).newTopic.configuration
    }

    @Test("there is a plan for each topic, and what is created passes the check")
    func roundTrip() {
        for replicationFactor in 1...3 {
            let premises = TopicPlan.Premises(
                replicationFactor: replicationFactor, retryTopics: retryTopics,
                broadcastRetryTopics: broadcastRetryTopics)
            for topic in TopicPlan.all(namesWithAll, premises) {
                let found = TopicDescription(
                    name: topic.name, partitions: Int32(topic.partitions),
                    replicationFactor: Int32(topic.replicationFactor), configuration: topic.newTopic.configuration)
                #expect(
                    topic.differences(from: found, partitions: topic.partitions, replicationFactor: replicationFactor)
                        == [])
            }
        }
        let roles = Set(TopicPlan.Role.allCases)
        let broadcasts: Set<TopicPlan.Role> = [.broadcasts, .broadcastJournal, .broadcastDispatch]
        let delivery: Set<TopicPlan.Role> = [.deliveries, .retry]
        let registrar: Set<TopicPlan.Role> = [.commands, .devices, .people, .erasures, .verdicts]
        func planned(
            _ names: PipelineConfiguration.Topics, _ premises: TopicPlan.Premises = .init()
        ) -> Set<TopicPlan.Role> {
            Set(TopicPlan.all(names, premises).map(\.role))
        }
        let base = roles.subtracting(broadcasts).subtracting(delivery).subtracting(registrar)
            .subtracting([.requests, .broadcastRetry, .control, .receipts])
        #expect(planned(names) == base)
        #expect(planned(namesWithRequests) == base.union([.requests]))
        #expect(planned(namesWithBroadcasts) == base.union(broadcasts).union([.requests]))
        #expect(planned(names, .init(retryTopics: retryTopics)) == base.union(delivery))
        let all = TopicPlan.Premises(retryTopics: retryTopics, broadcastRetryTopics: broadcastRetryTopics)
        #expect(planned(namesWithAll, all) == roles)
        #expect(planned(namesWithBroadcasts, all) == roles.subtracting(registrar).subtracting([.control, .receipts]))
    }

    @Test("the broker measures what others write: of subscriptions it must, of events it is advised")
    func measured() throws {
        for (role, isAdvice) in [(TopicPlan.Role.events, true), (.subscriptions, false)] {
            let topic = try plan(role)
            var found = TopicDescription(
                name: topic.name, partitions: 12, replicationFactor: 3, configuration: topic.newTopic.configuration)
            #expect(found.configuration["compression.type"] == "uncompressed")
            found.configuration["compression.type"] = "producer"
            let line =
                "\(topic.name): compression.type is producer, not uncompressed: else nothing bounds the memory that a compressed batch takes from its readers"
            #expect(topic.advice(on: found) == (isAdvice ? [line] : []))
            #expect(topic.differences(from: found, partitions: nil, replicationFactor: nil) == (isAdvice ? [] : [line]))
        }
        #expect(try settings(.dispatch)["compression.type"] == nil)
    }

    @Test("with commands a compacted topic of people needs a bound, whichever; another that never forgets is noted")
    func forgetting() throws {
        func found(_ role: TopicPlan.Role, _ changes: [String: String]) throws -> (TopicPlan, TopicDescription) {
            let topic = try #require(TopicPlan.all(namesWithAll, .init()).first { $0.role == role })
            let configuration = topic.newTopic.configuration.merging(["segment.ms": "604800000"]) { $1 }
            return (
                topic,
                TopicDescription(
                    name: topic.name, partitions: Int32(topic.partitions), replicationFactor: 3,
                    configuration: configuration.merging(changes) { $1 })
            )
        }
        for role in [TopicPlan.Role.subscriptions, .devices, .people] {
            for (lag, isBound) in [("1", true), ("8640000000", true), ("9223372036854775807", false)] {
                let (topic, description) = try found(role, ["max.compaction.lag.ms": lag])
                let lines = topic.differences(from: description, partitions: nil, replicationFactor: nil)
                #expect(lines.isEmpty == isBound, "\(lines)")
                #expect(topic.memory(of: description) == nil)
            }
        }
        #expect(try settings(.subscriptions)["max.compaction.lag.ms"] == nil)
        for (retention, isNoted) in [("-1", true), ("1", false)] {
            let (topic, description) = try found(.deadLetters, ["retention.ms": retention])
            #expect((topic.memory(of: description) != nil) == isNoted)
        }
    }

    @Test("docs/kafka.md 20: a dead letter has room for the largest event and 64 KiB of headers")
    func deadLetters() throws {
        #expect(try settings(.deadLetters)["max.message.bytes"] == "\(1_048_588 + 65_536)")
        #expect(try settings(.deadLetters, .init(eventsMaxMessageBytes: 5_000_000))["max.message.bytes"] == "5065536")
    }

    @Test("docs/kafka.md 18: tombstones of subscriptions stay for at least 7 days, and the topic is compacted")
    func subscriptions() throws {
        let found = try settings(.subscriptions)
        #expect(found["cleanup.policy"] == "compact")
        #expect(try #require(found["delete.retention.ms"].flatMap { Int($0) }) >= 7 * 86_400_000)
        #expect(found["min.compaction.lag.ms"] == "2592000000")
    }

    @Test("journal and compaction lag follow the retention of the events")
    func retention() throws {
        let long = TopicPlan.Premises(eventsRetention: 90 * 86_400_000)
        #expect(try settings(.journal, long)["retention.ms"] == "7776000000")
        #expect(try settings(.subscriptions, long)["min.compaction.lag.ms"] == "7776000000")
        let forEver = TopicPlan.Premises(eventsRetention: -1)
        #expect(try settings(.journal, forEver)["retention.ms"] == "-1")
        #expect(try settings(.subscriptions, forEver)["min.compaction.lag.ms"] == "2592000000")
    }

    @Test("with a schedule, the events need a retention of twice the horizon")
    func horizon() throws {
        let day: Int64 = 86_400_000
        func problems(_ retention: String, least: Int64?) throws -> [String] {
            let events = try plan(.events, .init(eventsLeastRetention: least))
            var configuration = events.newTopic.configuration
            configuration["retention.ms"] = retention
            configuration["message.timestamp.after.max.ms"] = "\(2 * day)"
            let found = TopicDescription(
                name: events.name, partitions: 12, replicationFactor: 3, configuration: configuration)
            return events.differences(from: found, partitions: nil, replicationFactor: nil)
        }
        let future =
            "orders.events: message.timestamp.after.max.ms is 172800000, more than 3600000: a record from the future "
            + "would expire the state of orders"
        #expect(
            try problems("604800000", least: 28 * day) == [
                "orders.events: retention.ms is 604800000, less than 2419200000: twice state.horizon, "
                    + "from which the state of orders is folded", future,
            ])
        #expect(try problems("604800000", least: nil) == [future])
        #expect(try problems("-1", least: 28 * day) == [future])
    }

    @Test("a difference is named with what was found, what is wanted and why")
    func differences() throws {
        let topic = try plan(.subscriptions)
        var configuration = topic.newTopic.configuration
        configuration["cleanup.policy"] = "delete"
        configuration["delete.retention.ms"] = "86400000"
        let found = TopicDescription(
            name: topic.name, partitions: 6, replicationFactor: 1, configuration: configuration)
        #expect(
            topic.differences(from: found, partitions: 12, replicationFactor: 3) == [
                "notifications.subscriptions: partitions is 6, not 12",
                "notifications.subscriptions: the replication factor is 1, not 3",
                "notifications.subscriptions: cleanup.policy is delete, not compact: the newest record of a key is the subscription",
                "notifications.subscriptions: delete.retention.ms is 86400000, less than 604800000: a stored table older than "
                    + "half of it may have missed an unsubscription",
                "notifications.subscriptions: min.insync.replicas is 2, more than the 1 replicas",
            ])
    }

    @Test("unlimited is more than any number, and a value that the broker does not report is no difference")
    func infinite() throws {
        let journal = try plan(.journal)
        let dispatch = try plan(.dispatch)
        func found(_ topic: TopicPlan, _ retention: String) -> TopicDescription {
            TopicDescription(
                name: topic.name, partitions: 3, replicationFactor: 3, configuration: ["retention.ms": retention])
        }
        #expect(journal.differences(from: found(journal, "-1"), partitions: nil, replicationFactor: nil) == [])
        #expect(
            dispatch.differences(from: found(dispatch, "-1"), partitions: nil, replicationFactor: nil)
                == ["notifications.dispatch: retention.ms is -1, more than 259200000: 3 days; the records hold tokens"])
    }

    @Test("the topics of delivery have the partitions of dispatch, whatever is asked for")
    func deliveryPartitions() throws {
        let planned = TopicPlan.all(names, .init(partitions: 24, retryTopics: retryTopics, dispatchPartitions: 6))
            .filter { $0.fixedPartitions != nil }
        #expect(planned.map(\.name) == ["notifications.deliveries"] + retryTopics)
        for topic in planned {
            #expect(topic.partitions == 6 && topic.role.growsWithLoad)
            func differences(_ partitions: Int32) -> [String] {
                let found = TopicDescription(
                    name: topic.name, partitions: partitions, replicationFactor: 3,
                    configuration: topic.newTopic.configuration)
                return topic.differences(from: found, partitions: 24, replicationFactor: nil)
            }
            #expect(differences(6) == [])
            #expect(
                differences(24) == [
                    "\(topic.name): partitions is 24, not 6: those of notifications.dispatch, because a record stays in "
                        + "the partition of its number"
                ])
        }
        #expect(TopicPlan.all(names, .init(partitions: 24, retryTopics: retryTopics)).last?.partitions == 24)
    }

    @Test("what waits for another attempt is kept as long as dispatch, and has the broker's time")
    func retries() throws {
        let premises = TopicPlan.Premises(retryTopics: retryTopics, dispatchRetention: 7_200_000)
        let topic = try plan(.retry, premises)
        #expect(topic.newTopic.configuration["retention.ms"] == "7200000")
        let found = TopicDescription(
            name: topic.name, partitions: 12, replicationFactor: 3,
            configuration: [
                "retention.ms": "3600000", "message.timestamp.type": "CreateTime", "cleanup.policy": "compact",
            ])
        #expect(
            topic.differences(from: found, partitions: nil, replicationFactor: nil) == [
                "\(retryTopics[0]): cleanup.policy is compact, not delete: what waits is sent once, and nothing replaces it",
                "\(retryTopics[0]): retention.ms is 3600000, less than 7200000: as long as notifications.dispatch: what "
                    + "waits is nowhere else",
                "\(retryTopics[0]): message.timestamp.type is CreateTime, not LogAppendTime: a push is due when the topic's "
                    + "delay has passed since the broker appended it",
            ])
    }

    @Test("outcomes are kept for 30 days, and never shorter than the pushes")
    func outcomes() throws {
        func retention(_ dispatch: Int64) throws -> String? {
            try settings(.deliveries, .init(retryTopics: retryTopics, dispatchRetention: dispatch))["retention.ms"]
        }
        #expect(try retention(259_200_000) == "2592000000")
        #expect(try retention(5_184_000_000) == "5184000000")
        #expect(try retention(-1) == "-1")
        let topic = try plan(.deliveries, .init(retryTopics: retryTopics))
        func differences(_ retention: String) -> [String] {
            let found = TopicDescription(
                name: topic.name, partitions: 12, replicationFactor: 3, configuration: ["retention.ms": retention])
            return topic.differences(from: found, partitions: nil, replicationFactor: nil)
        }
        #expect(differences("259200000") == [])
        #expect(
            differences("259199999") == [
                "notifications.deliveries: retention.ms is 259199999, less than 259200000: 30 days to look at them; a push "
                    + "of notifications.dispatch without an outcome counts as a defect"
            ])
    }
}
