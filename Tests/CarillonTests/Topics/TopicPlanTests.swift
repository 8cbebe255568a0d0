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

    private func plan(_ role: TopicPlan.Role, _ premises: TopicPlan.Premises = .init()) throws -> TopicPlan {
        try #require(TopicPlan.all(names, premises).first { $0.role == role })
    }

    private func settings(_ role: TopicPlan.Role, _ premises: TopicPlan.Premises = .init()) throws -> [String: String] {
        try plan(role, premises).newTopic.configuration
    }

    @Test("there is a plan for each topic, and what is created passes the check")
    func roundTrip() {
        for replicationFactor in 1...3 {
            for topic in TopicPlan.all(namesWithRequests, .init(replicationFactor: replicationFactor)) {
                let found = TopicDescription(
                    name: topic.name, partitions: Int32(topic.partitions),
                    replicationFactor: Int32(topic.replicationFactor), configuration: topic.newTopic.configuration)
                #expect(
                    topic.differences(from: found, partitions: topic.partitions, replicationFactor: replicationFactor)
                        == [])
            }
        }
        #expect(Set(TopicPlan.all(names, .init()).map(\.role)) == Set(TopicPlan.Role.allCases).subtracting([.requests]))
        #expect(Set(TopicPlan.all(namesWithRequests, .init()).map(\.role)) == Set(TopicPlan.Role.allCases))
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
                "orders.events: retention.ms is 604800000, less than 2419200000: 30 days; the state of orders is folded "
                    + "from twice state.horizon of it", future,
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
}
