import Broadcasts
import Foundation
import Notifications
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

    @Test("first offsets are set for broadcasts and each provider with its retry topics; what is committed stays")
    func firstOffsets() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/\(trial.unique)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let credentials = #"[{"name":"shop","provider":"fcm","service_account":"shop.json"}]"#
        try credentials.write(toFile: folder + "/credentials.json", atomically: true, encoding: .utf8)
        let settings = [
            "--set", "topic.broadcasts=\(trial.unique).broadcasts", "--set",
            "delivery.credentials=@\(folder)/credentials.json",
        ]
        #expect(try trial.carillon(words: ["topics", "create", "--partitions", "2"] + settings).status == 0)
        let broadcasts = "\(trial.unique)-broadcasts"
        let dispatch = "\(trial.unique).dispatch"

        let set = ["offsets", "set", "--to", "latest"]
        let some = try trial.carillon(words: set + ["--roles", "broadcasts"] + settings)
        #expect(some.status == 0, "\(some.errors)")
        #expect(some.output.hasSuffix("Committed for group \(broadcasts).\n"))
        #expect(try trial.committed().isEmpty)
        let first = try trial.offsets(of: broadcasts)
        #expect(first.count == 2)
        let offset = first.values.first.flatMap { BroadcastOffset(offset: $0.offset.value, metadata: $0.metadata) }
        #expect(offset?.partitions == 2 && offset?.broadcast == 0)

        let planned = try trial.carillon(words: set + ["--dry-run"] + settings)
        #expect(planned.output.contains("\(trial.unique)-delivery-apns"), "\(planned.output) \(planned.errors)")
        #expect(!planned.output.contains(broadcasts))
        #expect(try trial.offsets(of: "\(trial.unique)-delivery-fcm").isEmpty)
        let all = try trial.carillon(words: set + settings)
        #expect(all.status == 0, "\(all.errors)")
        #expect(try trial.committed().count == 2)
        #expect(try trial.offsets(of: broadcasts) == first)
        for provider in ["fcm", "apns"] {
            let offsets = try trial.offsets(of: "\(trial.unique)-delivery-\(provider)")
            #expect(
                Set(offsets.keys.map(\.topic))
                    == Set(["", ".retry.10s", ".retry.1m", ".retry.15m"].map { dispatch + $0 }))
            #expect(offsets.count == 8)
            #expect(offsets.values.allSatisfy { LaneOffset(offset: 0, metadata: $0.metadata)?.sentBelow == 0 })
        }
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
