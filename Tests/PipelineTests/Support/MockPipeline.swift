import Foundation
import KafkaClient
import Telemetry
import TestSupport
import Testing

@testable import Pipeline

extension PipelineConfiguration {
    /// One worker on a mock cluster, which gets the topics; it gives up a drain after a quarter of a second.
    static func onMock(_ cluster: MockCluster, _ folder: TemporaryFolder) throws -> PipelineConfiguration {
        var configuration = PipelineConfiguration(
            kafka: ["bootstrap.servers": cluster.bootstrapServers], stateDirectory: folder.path,
            rules: try ExtractionRules(), instanceID: "test", workers: 1)
        configuration.from = .earliest
        configuration.sessionTimeout = .seconds(6)
        configuration.shutdownTimeout = .milliseconds(250)
        let topics = configuration.topics
        for name in [topics.events, topics.dispatch, topics.deadLetters, topics.journal] {
            try cluster.createTopic(name, partitions: 1)
        }
        return configuration
    }
}

extension MockCluster {
    func write(_ values: [String], to topic: String) throws {
        var producer = try Producer(settings: ["bootstrap.servers": bootstrapServers])
        let handle = try producer.topic(topic)
        for value in values {
            try producer.produce(ProducerRecord(key: nil, value: Array(value.utf8)), to: handle)
        }
        try producer.flush(timeout: .seconds(10))
    }
}

enum OrderEvent {
    /// It has an audience.
    static let created = """
        {"event_id":"1","event_type":"ORDER_CREATED","occurred_at":"2026-11-21T10:00:00Z",\
        "order":{"id":"4711","order_number":"A-17","place_id":"42"}}
        """
}

extension Logger {
    static let silent = Logger(label: "test", level: .critical)
}

/// Looks until the condition holds; records a failure at the deadline.
func eventually(
    _ what: String, within timeout: Duration = .seconds(30), sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + timeout
    while try !condition() {
        guard .now < deadline else {
            Issue.record("not within \(timeout): \(what)", sourceLocation: sourceLocation)
            return
        }
        try await Task.sleep(for: .milliseconds(10))
    }
}
