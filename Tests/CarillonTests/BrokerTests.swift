import Foundation
import Testing

@testable import KafkaClient
@testable import Pipeline
@testable import carillon

private let broker = ProcessInfo.processInfo.environment["KAFKA_BOOTSTRAP_SERVERS"] ?? ""

/// What the mock cluster does not support: topics and offsets.
@Suite(.enabled(if: !broker.isEmpty, "needs a broker: set KAFKA_BOOTSTRAP_SERVERS"))
struct BrokerTests {
    /// Names that no other run uses.
    private let unique = "cli-\(UUID().uuidString.prefix(8).lowercased())"
    private var events: String { "\(unique).events" }

    private func carillon(_ words: String..., group: String? = nil) throws -> CommandProcess {
        var names: [String] = []
        for topic in ["events", "subscriptions", "dispatch", "dead-letters", "journal"] {
            names += ["--set", "topic.\(topic)=\(unique).\(topic)"]
        }
        return try CommandProcess.run(
            words + names + ["-b", broker, "--group", group ?? unique, "--set", "session.timeout=6s"],
            environment: ["HOME": "/home/x"])
    }

    private func write(_ count: Int, partition: Int32) throws {
        var producer = try Producer(settings: ["bootstrap.servers": broker])
        let topic = try producer.topic(events)
        for number in 0..<count {
            let value = Array("\(number)".utf8)
            try producer.produce(ProducerRecord(key: value, value: value, partition: partition), to: topic)
        }
        try producer.flush(timeout: .seconds(20))
    }

    private func committed() throws -> [Int32: CommittedOffset] {
        let admin = try Admin(settings: ["bootstrap.servers": broker])
        let found = try admin.listCommitted(group: unique)
        return Dictionary(uniqueKeysWithValues: found.map { ($0.key.partition, $0.value) })
    }

    @Test("topics are planned, created, and then as they should be; a difference ends with 1")
    func topics() throws {
        #expect(try carillon("topics", "check").status == 1)
        let planned = try carillon("topics", "create", "--dry-run", "--partitions", "2")
        #expect(planned.status == 0, "\(planned.errors)")
        #expect(planned.output.contains("would be created"))
        #expect(try carillon("topics", "check").errors.contains("5 differences"))

        let created = try carillon("topics", "create", "--partitions", "2")
        #expect(created.status == 0, "\(created.errors)")
        let checked = try carillon("topics", "check", "--partitions", "2")
        #expect(checked.status == 0, "\(checked.output)")
        let other = try carillon("topics", "check", "--partitions", "3")
        #expect(other.status == 1)
        #expect(other.output.contains("\(events): partitions is 2, not 3\n"))
        #expect(try carillon("topics", "create").output.contains("exists"))
    }

    @Test("offsets are set from nothing, kept when moved, moved back only with --resend")
    func offsets() throws {
        #expect(try carillon("topics", "create", "--partitions", "2").status == 0)
        try write(10, partition: 0)
        try write(4, partition: 1)
        let first = try carillon("offsets", "set", "--to", "latest")
        #expect(first.status == 0, "\(first.errors)")
        let before = try committed()
        #expect(before.mapValues(\.offset) == [0: Offset(10), 1: Offset(4)])
        let metadata = try #require(before[0].flatMap { OffsetMetadata(parsing: $0.metadata) })
        #expect(metadata.partitions == 2)

        let refused = try carillon("offsets", "set", "--to", "earliest")
        #expect(refused.status == 78)
        #expect(refused.errors.contains("up to 14 events would be sent again; give --resend"))
        #expect(try committed() == before)
        #expect(try carillon("offsets", "set", "--to", "earliest", "--dry-run").status == 0)
        #expect(try committed() == before)

        #expect(try carillon("offsets", "set", "--to", "3", "--partition", "0", "--resend").status == 0)
        let after = try committed()
        #expect(after[0] == CommittedOffset(offset: Offset(3), metadata: before[0]?.metadata ?? ""))
        #expect(after[1] == before[1])

        let shown = try carillon("offsets", "show", "--json")
        let rows = try JSONSerialization.jsonObject(with: Data(shown.output.utf8)) as? [[String: Any]]
        #expect(rows?.map { $0["lag"] as? Int } == [7, 0])
        #expect(rows?.map { $0["partitions"] as? Int } == [2, 2])
    }

    @Test("a watermark that is ahead is brought back after a plan, and only with --repeat-timers")
    func watermark() throws {
        #expect(try carillon("topics", "create", "--partitions", "2").status == 0)
        try write(5, partition: 0)
        #expect(try carillon("offsets", "set", "--to", "latest").status == 0)
        let ahead = OffsetMetadata(
            watermark: TimerWatermark(4_000_000_000_000, split: 9), partitions: 2, newestTimestamp: 40)
        let reader = try Consumer(assigning: ["bootstrap.servers": broker], group: unique)
        try reader.commit(
            [TopicPartition(topic: events, partition: 0): CommittedOffset(offset: Offset(5), metadata: ahead.text)],
            timeout: .seconds(20))
        let before = try committed()

        let time = "2026-01-01T00:00:00Z"
        let refused = try carillon("offsets", "set", "--watermark", time, "--partition", "0")
        #expect(refused.status == 78)
        #expect(refused.output.contains("moves back: 1;"))
        #expect(refused.errors.contains("give --repeat-timers"))
        #expect(try carillon("offsets", "set", "--watermark", time, "--dry-run").status == 0)
        #expect(try committed() == before)

        let moved = try carillon("offsets", "set", "--watermark", time, "--partition", "0", "--repeat-timers")
        #expect(moved.status == 0, "\(moved.errors)")
        let after = try committed()
        #expect(after[0]?.metadata == "v1 w=1767225600000 n=2 t=40")
        #expect(after[0]?.offset == Offset(5))
        #expect(after[1] == before[1])
        #expect(try carillon("offsets", "set", "--watermark", "now").status == 0)
        let metadata = try #require(try committed()[1].flatMap { OffsetMetadata(parsing: $0.metadata) })
        #expect(metadata.watermark > TimerWatermark(1_767_225_600_000))
    }

    @Test("offsets are not set while the group has a live member; a static member that has left is waited for")
    func members() throws {
        #expect(try carillon("topics", "create", "--partitions", "1").status == 0)
        try write(5, partition: 0)
        var member = try Consumer(
            settings: ["bootstrap.servers": broker, "session.timeout.ms": "6000"], group: unique, instance: "one")
        try member.subscribe(to: [events])
        let deadline = ContinuousClock.now + .seconds(30)
        var isAssigned = false
        while !isAssigned, ContinuousClock.now < deadline {
            guard case .assign = member.nextEvent(timeout: .seconds(1)) else { continue }
            try member.assign([TopicPartition(topic: events, partition: 0): Offset(0)])
            isAssigned = true
        }
        try #require(isAssigned)
        let refused = try carillon("offsets", "set", "--to", "latest")
        #expect(refused.status == 3, "\(refused.errors)")
        #expect(refused.errors.contains("group \(unique) has live members"))
        #expect(refused.errors.contains("one on "))

        member.close()
        let waited = try carillon("offsets", "set", "--to", "latest")
        #expect(waited.status == 0, "\(waited.errors)")
        #expect(try committed()[0]?.offset == Offset(5))
    }

    @Test("offsets of a topic that got more partitions are set only with --accept-partitions")
    func partitions() throws {
        #expect(try carillon("topics", "create", "--partitions", "1").status == 0)
        try write(5, partition: 0)
        let old = OffsetMetadata(watermark: TimerWatermark(50), partitions: 3, newestTimestamp: 40)
        let reader = try Consumer(assigning: ["bootstrap.servers": broker], group: unique)
        try reader.commit(
            [TopicPartition(topic: events, partition: 0): CommittedOffset(offset: Offset(5), metadata: old.text)],
            timeout: .seconds(20))
        let refused = try carillon("offsets", "set", "--to", "latest")
        #expect(refused.status == 78)
        #expect(
            refused.errors.contains("was committed with 3 partitions, the topic has 1 now; give --accept-partitions"))
        let accepted = try carillon("offsets", "set", "--accept-partitions")
        #expect(accepted.status == 0, "\(accepted.errors)")
        let metadata = try #require(try committed()[0].flatMap { OffsetMetadata(parsing: $0.metadata) })
        #expect(metadata.partitions == 1)
        #expect(metadata.watermark > TimerWatermark(50))
        #expect(metadata.newestTimestamp == 40)
    }

    @Test("a missing topic is reported in one clear line")
    func missing() throws {
        let result = try carillon("subscriptions", "list")
        #expect(result.status == 78)
        #expect(result.errors.split(separator: "\n").count == 1)
        #expect(result.errors.contains("\(unique).subscriptions"))
    }
}
