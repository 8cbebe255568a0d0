import Foundation
import KafkaClient
import Synchronization
import Telemetry
import TestSupport
import Testing

@testable import Pipeline

@Suite("The follower of the broadcasts", .timeLimit(.minutes(30)))
struct BroadcastFollowerTests {
    private final class Trial: Sendable {
        let cluster: MockCluster
        let follower: BroadcastFollower
        let host = RoleHost()
        private let outcome = Mutex<Result<Void, any Error>?>(nil)

        init(partitions: Int = 1) throws {
            cluster = try MockCluster()
            var configuration = PipelineConfiguration(
                kafka: ["bootstrap.servers": cluster.bootstrapServers, "fetch.wait.max.ms": "10"],
                stateDirectory: "/nonexistent", rules: try ExtractionRules())
            configuration.topics.broadcasts = "notifications.broadcasts"
            try cluster.createTopic(configuration.topics.broadcasts, partitions: partitions)
            follower = BroadcastFollower(configuration, logger: .silent, metrics: Metrics())
        }

        /// - Parameter host: of another role.
        func start(on host: RoleHost) {
            Thread.detachNewThread { [self] in try? follower.run(on: host) }
        }

        func start() {
            Thread.detachNewThread { [self] in
                let result = Result { try follower.run(on: host) }
                outcome.withLock { $0 = result }
            }
        }

        var result: Result<Void, any Error>? { outcome.withLock { $0 } }

        func end() async throws {
            host.drain()
            try await eventually("it ends") { result != nil }
        }

        func write(_ records: [(key: String, value: String?)]) throws {
            var producer = try Producer(settings: ["bootstrap.servers": cluster.bootstrapServers])
            let topic = try producer.topic("notifications.broadcasts")
            for record in records {
                try producer.produce(
                    ProducerRecord(
                        key: Array(record.key.utf8), value: record.value.map { Array($0.utf8) },
                        headers: [RecordHeader("traceparent", Array("t".utf8))]), to: topic)
            }
            try producer.flush(timeout: .seconds(10))
        }
    }

    @Test("it shows the newest record of each key with its bytes, is at the end again and again, and reads on")
    func follows() async throws {
        let trial = try Trial()
        try trial.write([("a", "1"), ("b", "2"), ("a", "3")])
        #expect(trial.follower.view.freshSince == nil)
        trial.start()
        try await eventually("it is at the end") { trial.follower.view.freshSince != nil }
        let view = trial.follower.view
        #expect(view.reached == 3)
        #expect(view.records.map(\.key) == [Array("b".utf8), Array("a".utf8)])
        #expect(view.records.map(\.value) == [Array("2".utf8), Array("3".utf8)])
        #expect(view.records.allSatisfy { $0.timestamp != nil && $0.headers.map(\.name) == ["traceparent"] })
        try trial.write([("b", nil)])
        try await eventually("the tombstone is there") { trial.follower.view.records.map(\.offset) == [2] }
        let since = try #require(trial.follower.view.freshSince)
        try await eventually("it has asked again") { trial.follower.view.freshSince.map { $0 > since } ?? false }
        try await trial.end()
    }

    @Test("of two roles one reads; where it ends, the other reads on")
    func shared() async throws {
        let trial = try Trial()
        let first = RoleHost()
        trial.start(on: first)
        try await eventually("it is at the end") { trial.follower.view.freshSince != nil }
        trial.start()
        let since = try #require(trial.follower.view.freshSince)
        try await eventually("the first one reads for a second") {
            trial.follower.view.freshSince.map { $0 > since + .seconds(1) } ?? false
        }
        #expect(trial.result == nil, "the other one waits for its turn")
        first.drain()
        try trial.write([("a", "1")])
        try await eventually("the other one reads") { trial.follower.view.reached == 1 }
        #expect(trial.result == nil)
        try await trial.end()
    }

    @Test("an empty topic is fresh; while no broker answers the view grows old, and its role is told")
    func unanswered() async throws {
        let trial = try Trial()
        trial.start()
        try await eventually("it is at the end") { trial.follower.view.freshSince != nil }
        try trial.cluster.setBrokerDown(1)
        try await eventually("it is old") { !trial.follower.view.isFresh(within: .seconds(1)) }
        try await eventually("its role knows") { trial.host.health.away != nil }
        try trial.cluster.setBrokerUp(1)
        try await eventually("it is fresh again") { trial.follower.view.isFresh(within: .seconds(1)) }
        try await eventually("its role is told") { trial.host.health.away == nil }
        try await trial.end()
    }

    @Test("a topic with more than one partition ends it, with what to do")
    func partitions() async throws {
        let trial = try Trial(partitions: 2)
        trial.start()
        try await eventually("it ends") { trial.result != nil }
        let error = #expect(throws: PipelineError.self) { try trial.result?.get() }
        guard case .decisionNeeded(let text) = error else {
            Issue.record("it ended with \(String(describing: error))")
            return
        }
        #expect(text.contains("notifications.broadcasts has 2 partitions and must have one"))
    }
}
