import Foundation
import Testing

@testable import KafkaClient

/// A real broker, for tests that the mock cluster cannot run: `KAFKA_BOOTSTRAP_SERVERS`.
enum RealBroker {
    static let bootstrapServers = ProcessInfo.processInfo.environment["KAFKA_BOOTSTRAP_SERVERS"]
    static let comment: Comment = "needs a broker: set KAFKA_BOOTSTRAP_SERVERS"
    static var isThere: Bool { bootstrapServers?.isEmpty == false }

    static var settings: Settings { ["bootstrap.servers": bootstrapServers ?? ""] }

    /// A name that no other test and no other run uses.
    static func unique(_ name: String) -> String {
        "test-\(name)-\(UUID().uuidString.prefix(8).lowercased())"
    }

    /// Creates a topic with a unique name.
    static func topic(_ name: String, partitions: Int32 = 1, configuration: [String: String] = [:]) throws -> String {
        let topic = unique(name)
        let admin = try Admin(settings: settings)
        let outcome = try admin.createTopics([
            NewTopic(name: topic, partitions: partitions, replicationFactor: 1, configuration: configuration)
        ])
        if let error = outcome[topic] ?? nil { throw error }
        // The brokers learn of the topic a little later than the controller.
        _ = try eventually("the topic") { try admin.describe(topics: [topic]).first }
        return topic
    }

    /// Writes records outside any transaction.
    static func write(_ values: [String], to topic: String, partition: Int32 = 0) throws {
        var producer = try Producer(settings: settings)
        let handle = try producer.topic(topic)
        for value in values {
            try producer.produce(
                ProducerRecord(key: value.bytes, value: value.bytes, partition: partition), to: handle)
        }
        try producer.flush(timeout: .seconds(20))
        let failures = producer.takeFailures()
        if let failure = failures.first { throw failure.error }
    }

    /// What a read-committed reader sees from the start to the end.
    static func committedValues(of topic: String, partition: Int32 = 0) throws -> [String] {
        let partition = TopicPartition(topic: topic, partition: partition)
        var reader = try Consumer(assigning: settings)
        let end = try reader.endOffsets([partition], timeout: .seconds(20))[partition] ?? Offset(0)
        try reader.assign([partition: Offset(0)])
        var values: [String] = []
        let deadline = ContinuousClock.now + .seconds(30)
        while .now < deadline {
            let read = reader.read(limit: 1000, timeout: .milliseconds(100))
            values += read.records.map { $0.value.text ?? "" }
            if let reached = read.endsOfPartition[partition], reached >= end { return values }
        }
        throw KafkaError(
            kind: .timedOut, recovery: .giveUp, name: "", message: "the end of \(partition) was not reached")
    }
}
