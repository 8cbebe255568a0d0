import KafkaClient
import Pipeline
import Testing

@testable import Broadcasts

@Suite("Where a partition of broadcasts begins")
struct BroadcastStartTests {
    private static let day: Int64 = 86_400_000
    private static let now: WallTime = 1_751_875_337_000
    private let topicPartition = TopicPartition(topic: "s", partition: 3)
    private let log = BroadcastContext.SubscriptionsLog(
        cluster: nil, partitions: 24, largestTableAge: 7 * day, compactionLag: 30 * day)

    private func start(_ metadata: String?) throws -> BroadcastStart {
        try BroadcastStart(
            metadata.map { CommittedOffset(offset: Offset(7), metadata: $0) }, of: topicPartition, log, now: Self.now)
    }

    @Test("where the group is, with the pass that was under way")
    func continues() throws {
        let offset = BroadcastOffset(
            offset: 7, partitions: 24, time: Self.now - Self.day, broadcast: 5, pass: .init(joinedBelow: 6, key: nil))
        #expect(try start(offset.metadata) == .continues(offset))
    }

    @Test("as for the first time, without a commit or with metadata that cannot be read")
    func first() throws {
        #expect(try start(nil) == .first(reason: "the group has no offset"))
        let foreign = BroadcastStart.first(reason: "the offset has metadata that cannot be read")
        #expect(try start("") == foreign)
        #expect(try start("v1 w=1 n=24 t=3") == foreign)
    }

    @Test("as for the first time, if compaction may have taken away when devices joined")
    func old() throws {
        func metadata(age: Int64) -> String {
            BroadcastOffset(offset: 7, partitions: 24, time: Self.now - age, broadcast: 5).metadata
        }
        #expect(try start(metadata(age: 30 * Self.day + 1)) != start(metadata(age: 30 * Self.day)))
        #expect(
            try start(metadata(age: 30 * Self.day + 1))
                == .first(reason: "the offset is older than min.compaction.lag.ms"))
    }

    @Test("nowhere, if the topic has another number of partitions: keys have moved")
    func moved() {
        let metadata = BroadcastOffset(offset: 7, partitions: 12, time: Self.now, broadcast: 5).metadata
        #expect {
            _ = try start(metadata)
        } throws: { error in
            guard case .decisionNeeded(let text) = error as? PipelineError else { return false }
            return text.hasPrefix("s had 12 partitions and has 24: keys have moved")
        }
    }
}
