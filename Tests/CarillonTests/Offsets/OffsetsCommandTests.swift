import Foundation
import Testing

@testable import KafkaClient
@testable import Pipeline

@Suite(.enabled(if: BrokerTrial.isThere, "needs a broker: set KAFKA_BOOTSTRAP_SERVERS"))
struct OffsetsCommandTests {
    private let trial = BrokerTrial()

    @Test("offsets are set from nothing, kept when moved, moved back only with --resend")
    func offsets() throws {
        #expect(try trial.carillon("topics", "create", "--partitions", "2").status == 0)
        try trial.write(10, partition: 0)
        try trial.write(4, partition: 1)
        let first = try trial.carillon("offsets", "set", "--to", "latest")
        #expect(first.status == 0, "\(first.errors)")
        let before = try trial.committed()
        #expect(before.mapValues(\.offset) == [0: Offset(10), 1: Offset(4)])
        let metadata = try #require(before[0].flatMap { OffsetMetadata(parsing: $0.metadata) })
        #expect(metadata.partitions == 2)

        let refused = try trial.carillon("offsets", "set", "--to", "earliest")
        #expect(refused.status == 78)
        #expect(refused.errors.contains("up to 14 events would be sent again; give --resend"))
        #expect(try trial.committed() == before)
        #expect(try trial.carillon("offsets", "set", "--to", "earliest", "--dry-run").status == 0)
        #expect(try trial.committed() == before)

        #expect(try trial.carillon("offsets", "set", "--to", "3", "--partition", "0", "--resend").status == 0)
        let after = try trial.committed()
        #expect(after[0] == CommittedOffset(offset: Offset(3), metadata: before[0]?.metadata ?? ""))
        #expect(after[1] == before[1])

        let shown = try trial.carillon("offsets", "show", "--json")
        let rows = try JSONSerialization.jsonObject(with: Data(shown.output.utf8)) as? [[String: Any]]
        #expect(rows?.map { $0["lag"] as? Int } == [7, 0])
        #expect(rows?.map { $0["partitions"] as? Int } == [2, 2])
    }

    @Test("a watermark that is ahead is brought back after a plan, and only with --repeat-timers")
    func watermark() throws {
        #expect(try trial.carillon("topics", "create", "--partitions", "2").status == 0)
        try trial.write(5, partition: 0)
        #expect(try trial.carillon("offsets", "set", "--to", "latest").status == 0)
        let ahead = OffsetMetadata(
            watermark: TimerWatermark(4_000_000_000_000, split: 9), partitions: 2, newestTimestamp: 40)
        let reader = try Consumer(assigning: ["bootstrap.servers": BrokerTrial.address], group: trial.unique)
        try reader.commit(
            [
                TopicPartition(topic: trial.events, partition: 0): CommittedOffset(
                    offset: Offset(5), metadata: ahead.text)
            ],
            timeout: .seconds(20))
        let before = try trial.committed()

        let time = "2026-01-01T00:00:00Z"
        let refused = try trial.carillon("offsets", "set", "--watermark", time, "--partition", "0")
        #expect(refused.status == 78)
        #expect(refused.output.contains("moves back: 1;"))
        #expect(refused.errors.contains("give --repeat-timers"))
        #expect(try trial.carillon("offsets", "set", "--watermark", time, "--dry-run").status == 0)
        #expect(try trial.committed() == before)

        let moved = try trial.carillon("offsets", "set", "--watermark", time, "--partition", "0", "--repeat-timers")
        #expect(moved.status == 0, "\(moved.errors)")
        let after = try trial.committed()
        #expect(after[0]?.metadata == "v1 w=1767225600000 n=2 t=40")
        #expect(after[0]?.offset == Offset(5))
        #expect(after[1] == before[1])
        #expect(try trial.carillon("offsets", "set", "--watermark", "now").status == 0)
        let metadata = try #require(try trial.committed()[1].flatMap { OffsetMetadata(parsing: $0.metadata) })
        #expect(metadata.watermark > TimerWatermark(1_767_225_600_000))
    }

    @Test("offsets are not set while the group has a live member; a static member that has left is waited for")
    func members() throws {
        #expect(try trial.carillon("topics", "create", "--partitions", "1").status == 0)
        try trial.write(5, partition: 0)
        var member = try Consumer(
            settings: ["bootstrap.servers": BrokerTrial.address, "session.timeout.ms": "6000"], group: trial.unique,
            instance: "one")
        try member.subscribe(to: [trial.events])
        let deadline = ContinuousClock.now + .seconds(30)
        var isAssigned = false
        while !isAssigned, ContinuousClock.now < deadline {
            guard case .assign = member.nextEvent(timeout: .seconds(1)) else { continue }
            try member.assign([TopicPartition(topic: trial.events, partition: 0): Offset(0)])
            isAssigned = true
        }
        try #require(isAssigned)
        let refused = try trial.carillon("offsets", "set", "--to", "latest")
        #expect(refused.status == 3, "\(refused.errors)")
        #expect(refused.errors.contains("group \(trial.unique) has live members"))
        #expect(refused.errors.contains("one on "))

        member.close()
        let waited = try trial.carillon("offsets", "set", "--to", "latest")
        #expect(waited.status == 0, "\(waited.errors)")
        #expect(try trial.committed()[0]?.offset == Offset(5))
    }

    @Test("offsets of a topic that got more partitions are set only with --accept-partitions")
    func partitions() throws {
        #expect(try trial.carillon("topics", "create", "--partitions", "1").status == 0)
        try trial.write(5, partition: 0)
        let old = OffsetMetadata(watermark: TimerWatermark(50), partitions: 3, newestTimestamp: 40)
        let reader = try Consumer(assigning: ["bootstrap.servers": BrokerTrial.address], group: trial.unique)
        try reader.commit(
            [TopicPartition(topic: trial.events, partition: 0): CommittedOffset(offset: Offset(5), metadata: old.text)],
            timeout: .seconds(20))
        let refused = try trial.carillon("offsets", "set", "--to", "latest")
        #expect(refused.status == 78)
        #expect(
            refused.errors.contains("was committed with 3 partitions, the topic has 1 now; give --accept-partitions"))
        let accepted = try trial.carillon("offsets", "set", "--accept-partitions")
        #expect(accepted.status == 0, "\(accepted.errors)")
        let metadata = try #require(try trial.committed()[0].flatMap { OffsetMetadata(parsing: $0.metadata) })
        #expect(metadata.partitions == 1)
        #expect(metadata.watermark > TimerWatermark(50))
        #expect(metadata.newestTimestamp == 40)
    }
}
