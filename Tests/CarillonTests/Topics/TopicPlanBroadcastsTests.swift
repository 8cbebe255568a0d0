import Pipeline
import Testing

@testable import KafkaClient
@testable import carillon

@Suite("The topics of broadcasts") struct TopicPlanBroadcastsTests {
    private static let day: Int64 = 86_400_000
    private var names: PipelineConfiguration.Topics {
        var names = PipelineConfiguration.Topics()
        names.broadcasts = "notifications.broadcasts"
        return names
    }

    private func plan(_ role: TopicPlan.Role, _ premises: TopicPlan.Premises = .init()) throws -> TopicPlan {
        try #require(TopicPlan.all(names, premises).first { $0.role == role })
    }

    private func differences(
        _ topic: TopicPlan, partitions: Int32? = nil, _ changes: [String: String] = [:], asked: Int? = nil
    ) -> [String] {
        let found = TopicDescription(
            name: topic.name, partitions: partitions ?? Int32(topic.partitions), replicationFactor: 3,
            configuration: topic.newTopic.configuration.merging(changes) { $1 })
        return topic.differences(from: found, partitions: asked, replicationFactor: nil)
    }

    @Test("broadcasts have one partition, whatever is asked for, and are compacted and deleted")
    func broadcasts() throws {
        let topic = try plan(.broadcasts, .init(partitions: 24))
        #expect(topic.name == "notifications.broadcasts" && topic.partitions == 1)
        #expect(differences(topic, ["cleanup.policy": "delete,compact"]) == [])
        #expect(differences(topic, asked: 24) == [])
        #expect(
            differences(topic, partitions: 3, ["cleanup.policy": "compact"]) == [
                "notifications.broadcasts: partitions is 3, not 1: the offsets of one partition are the order of all "
                    + "broadcasts",
                "notifications.broadcasts: cleanup.policy is compact, not compact,delete: the newest record of a key is the "
                    + "broadcast",
            ])
    }

    @Test("a broadcast, its cancellation and its journal are kept for 35 days, 29 are enough")
    func retention() throws {
        let month = "\(35 * Self.day)"
        let least = "\(29 * Self.day)"
        for (role, keys) in [
            (.broadcasts, ["retention.ms", "delete.retention.ms"]), (.broadcastJournal, ["retention.ms"]),
        ] as [(TopicPlan.Role, [String])] {
            let topic = try plan(role)
            for key in keys {
                #expect(topic.newTopic.configuration[key] == month)
                #expect(differences(topic, [key: least]) == [])
                let found = differences(topic, [key: "\(29 * Self.day - 1)"])
                #expect(found.count == 1 && found[0].contains("\(key) is 2505599999, less than \(least): "), "\(found)")
            }
            #expect(differences(topic, ["message.timestamp.type": "CreateTime"]).count == 1)
        }
        #expect(try plan(.broadcastJournal).name == "notifications.broadcasts.journal")
        #expect(try plan(.broadcastJournal, .init(partitions: 24)).partitions == 3)
    }

    @Test("pushes of broadcasts have the partitions and the retention rule of the dispatch topic")
    func dispatch() throws {
        let topic = try plan(.broadcastDispatch, .init(partitions: 24, dispatchPartitions: 6))
        #expect(topic.name == "notifications.dispatch.broadcasts" && topic.partitions == 6)
        #expect(try topic.newTopic.configuration == plan(.dispatch).newTopic.configuration)
        #expect(
            differences(topic, partitions: 24, ["retention.ms": "259200001"], asked: 24) == [
                "notifications.dispatch.broadcasts: partitions is 24, not 6: those of notifications.dispatch, because a "
                    + "record stays in the partition of its number",
                "notifications.dispatch.broadcasts: retention.ms is 259200001, more than 259200000: 3 days; the records "
                    + "hold tokens",
            ])
    }

    @Test("what waits for another attempt is kept as long as the pushes of broadcasts, and outcomes at least so")
    func retries() throws {
        let retries = SenderConfiguration().retryTopics(of: names.broadcastDispatch)
        var premises = TopicPlan.Premises(
            retryTopics: ["notifications.dispatch.retry.10s"], broadcastRetryTopics: retries, dispatchPartitions: 6,
            dispatchRetention: 7_200_000, broadcastDispatchRetention: 60 * Self.day)
        let planned = TopicPlan.all(names, premises).filter { $0.role == .broadcastRetry }
        #expect(planned.map(\.name) == ["10s", "1m", "15m"].map { "notifications.dispatch.broadcasts.retry.\($0)" })
        for topic in planned {
            #expect(topic.partitions == 6)
            #expect(topic.newTopic.configuration["retention.ms"] == "\(60 * Self.day)")
            #expect(topic.newTopic.configuration["message.timestamp.type"] == "LogAppendTime")
        }
        #expect(try plan(.retry, premises).newTopic.configuration["retention.ms"] == "7200000")
        #expect(try plan(.deliveries, premises).newTopic.configuration["retention.ms"] == "\(60 * Self.day)")
        premises.broadcastDispatchRetention = -1
        #expect(try plan(.deliveries, premises).newTopic.configuration["retention.ms"] == "-1")
    }

    @Test("where broadcasts are read the subscriptions keep when each device joined for more than 29 days")
    func compactionLag() throws {
        let topic = try plan(.subscriptions, .init(eventsRetention: Self.day))
        let found = differences(topic, ["min.compaction.lag.ms": "\(28 * Self.day)"])
        let planned = try #require(topic.newTopic.configuration["min.compaction.lag.ms"].flatMap { Int64($0) })
        #expect(planned >= 29 * Self.day)
        #expect(found.count == 1 && found[0].hasSuffix("and broadcasts when each device joined"), "\(found)")
    }
}
