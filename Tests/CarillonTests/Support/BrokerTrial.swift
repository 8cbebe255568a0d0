import Foundation

@testable import KafkaClient

/// Commands on a real broker, for what the mock cluster does not support: topics and offsets.
struct BrokerTrial {
    static let address = ProcessInfo.processInfo.environment["KAFKA_BOOTSTRAP_SERVERS"] ?? ""
    static var isThere: Bool { !address.isEmpty }

    /// Names that no other run uses.
    let unique = "cli-\(UUID().uuidString.prefix(8).lowercased())"
    var events: String { "\(unique).events" }

    func carillon(_ words: String..., group: String? = nil) throws -> CommandProcess {
        try carillon(words: words, group: group)
    }

    func carillon(words: [String], group: String? = nil) throws -> CommandProcess {
        var names: [String] = []
        for topic in ["events", "subscriptions", "dispatch", "dead-letters", "journal", "deliveries"] {
            names += ["--set", "topic.\(topic)=\(unique).\(topic)"]
        }
        return try CommandProcess.run(
            words + names + ["-b", Self.address, "--group", group ?? unique, "--set", "session.timeout=6s"],
            environment: ["HOME": "/home/x"])
    }

    func write(_ count: Int, partition: Int32) throws {
        var producer = try Producer(settings: ["bootstrap.servers": Self.address])
        let topic = try producer.topic(events)
        for number in 0..<count {
            let value = Array("\(number)".utf8)
            try producer.produce(ProducerRecord(key: value, value: value, partition: partition), to: topic)
        }
        try producer.flush(timeout: .seconds(20))
    }

    func committed() throws -> [Int32: CommittedOffset] {
        Dictionary(uniqueKeysWithValues: try offsets(of: unique).map { ($0.key.partition, $0.value) })
    }

    func offsets(of group: String) throws -> [TopicPartition: CommittedOffset] {
        try Admin(settings: ["bootstrap.servers": Self.address]).listCommitted(group: group)
    }
}
