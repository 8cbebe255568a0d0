import Foundation
import KafkaClient
import Notifications
import Telemetry
import TestSupport
import Testing

@testable import Pipeline

@Suite("The follower of notifications.control", .timeLimit(.minutes(30)))
struct ControlFollowerTests {
    @Test("it shows what is cancelled and paused, and takes up what comes later")
    func follows() async throws {
        let cluster = try MockCluster()
        var configuration = PipelineConfiguration(
            kafka: ["bootstrap.servers": cluster.bootstrapServers, "fetch.wait.max.ms": "10"],
            stateDirectory: "/nonexistent", rules: try ExtractionRules())
        configuration.topics.control = "notifications.control"
        try cluster.createTopic(configuration.topics.control, partitions: 1)
        let (follower, host) = (ControlFollower(configuration, logger: .silent, metrics: Metrics()), RoleHost())
        func write(_ key: ControlKey, _ value: ControlEntry?) throws {
            var producer = try Producer(settings: ["bootstrap.servers": cluster.bootstrapServers])
            let topic = try producer.topic("notifications.control")
            try producer.produce(ProducerRecord(key: Array(key.text.utf8), value: value?.json), to: topic)
            try producer.flush(timeout: .seconds(10))
        }
        let (entry, now) = (ControlEntry(why: "w", by: "b", at: 5), WallClock.now)
        try write(.cancel("a"), entry)
        try write(.pause(PauseTarget(.fcm)), entry)
        Thread.detachNewThread { try? follower.run(on: host) }
        try await eventually("it is at the end") { follower.view.freshSince != nil }
        #expect(follower.view.cancelled.contains(Hash128("a"), at: now))
        #expect(follower.view.pauses(at: now).map(\.pause.entry) == [entry])
        try write(.pause(PauseTarget(.fcm)), nil)
        try await eventually("it is resumed") { follower.view.pauses(at: now).isEmpty }
        #expect(follower.view.cancelled.contains(Hash128("a"), at: now) && follower.view.ignored == 0)
        host.drain()
    }
}
