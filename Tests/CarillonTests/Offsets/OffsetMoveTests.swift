import Pipeline
import Testing

@testable import KafkaClient
@testable import carillon

/// docs/code.md §6, "Where a group starts".
@Suite struct OffsetMoveTests {
    private func id(_ partition: Int32) -> TopicPartition {
        TopicPartition(topic: "orders.events", partition: partition)
    }

    private func position(_ partition: Int32, committed: Int64?, metadata: String = "v1 w=50 n=2 t=40")
        -> GroupPositions.Partition
    {
        GroupPositions.Partition(
            id: id(partition), start: Offset(10), end: Offset(100),
            committed: committed.map { CommittedOffset(offset: Offset($0), metadata: metadata) })
    }

    private func move(
        _ partitions: [GroupPositions.Partition], to targets: [Int32: Int64], accept: Bool = false, resend: Bool = false
    ) -> OffsetMove {
        OffsetMove(
            GroupPositions(partitions: partitions),
            targets: Dictionary(uniqueKeysWithValues: targets.map { (id($0.key), Offset($0.value)) }),
            acceptPartitions: accept, mayResend: resend, now: 1_000)
    }

    @Test("a move keeps W, n and t, and leaves the other partitions alone")
    func keeps() {
        let move = move([position(0, committed: 20), position(1, committed: 30)], to: [1: 90])
        #expect(move.problems == [])
        #expect(move.commits == [id(1): CommittedOffset(offset: Offset(90), metadata: "v1 w=50 n=2 t=40")])
        #expect(move.skipped == 60)
    }

    @Test("moving back requires --resend, after reporting how much is sent again")
    func back() {
        let partitions = [position(0, committed: 60), position(1, committed: 70)]
        let refused = move(partitions, to: [0: 10, 1: 80])
        #expect(refused.problems == ["up to 50 events would be sent again; give --resend if that is what you want"])
        #expect(refused.text.contains("Up to 50 events are sent again, up to 10 are skipped."))
        #expect(move(partitions, to: [0: 10, 1: 80], resend: true).problems == [])
    }

    @Test(
        "a changed partition count wants --accept-partitions, which begins new partitions at their start with W = now everywhere"
    )
    func partitions() {
        let grown = [position(0, committed: 20), position(1, committed: 30), position(2, committed: nil)]
        #expect(move(grown, to: [0: 20]).problems.count == 2)
        let accepted = move(grown, to: [:], accept: true)
        #expect(accepted.problems == [])
        #expect(
            accepted.commits == [
                id(0): CommittedOffset(offset: Offset(20), metadata: "v1 w=1000 n=3 t=40"),
                id(1): CommittedOffset(offset: Offset(30), metadata: "v1 w=1000 n=3 t=40"),
                id(2): CommittedOffset(offset: Offset(10), metadata: "v1 w=1000 n=3 t=0"),
            ])
    }

    private func move(
        _ partitions: [GroupPositions.Partition], watermark: WallTime, of moved: [Int32] = [0],
        to targets: [Int32: Int64] = [:],
        repeating: Bool = false
    ) -> OffsetMove {
        OffsetMove(
            GroupPositions(partitions: partitions),
            targets: Dictionary(uniqueKeysWithValues: targets.map { (id($0.key), Offset($0.value)) }),
            watermarks: Dictionary(uniqueKeysWithValues: moved.map { (id($0), watermark) }), acceptPartitions: false,
            mayResend: false, mayRepeatTimers: repeating, now: 1_000)
    }

    @Test("a watermark that moves forward leaves the offset unchanged, and the plan says what is skipped")
    func watermarkForward() {
        let move = move([position(0, committed: 20), position(1, committed: 30)], watermark: 900)
        #expect(move.problems == [])
        #expect(move.commits == [id(0): CommittedOffset(offset: Offset(20), metadata: "v1 w=900 n=2 t=40")])
        #expect(move.text.contains("1970-01-01T00:00:00.050Z  1970-01-01T00:00:00.900Z"))
        #expect(move.text.contains("moves forward: 1; timers that are due in between are never sent."))
        #expect(!move.text.contains("moves back"))
    }

    @Test("one that moves back requires --repeat-timers, and the plan says what is sent again")
    func watermarkBack() {
        let partitions = [position(0, committed: 20), position(1, committed: 30, metadata: "v1 w=10 n=2 t=40")]
        let refused = move(partitions, watermark: 49, of: [0, 1])
        #expect(refused.problems == ["timers would be sent again; give --repeat-timers if that is what you want"])
        #expect(refused.text.contains("moves forward: 1;"))
        #expect(refused.text.contains("moves back: 1;"))
        let accepted = move(partitions, watermark: 49, of: [0, 1], repeating: true)
        #expect(accepted.problems == [])
        #expect(accepted.commits.values.map(\.metadata) == ["v1 w=49 n=2 t=40", "v1 w=49 n=2 t=40"])
    }

    @Test("the new watermark does not include a split instant: the same time is a move back")
    func splitWatermark() {
        let split = position(0, committed: 20, metadata: "v1 w=50 p=00000000000000ab n=2 t=40")
        #expect(move([split, position(1, committed: 30)], watermark: 50).problems.count == 1)
        let forward = move([split, position(1, committed: 30)], watermark: 51)
        #expect(forward.problems == [])
        #expect(forward.commits[id(0)]?.metadata == "v1 w=51 n=2 t=40")
    }

    @Test("a watermark goes along with --to; a partition without a commit needs both")
    func watermarkAndOffset() {
        let partitions = [position(0, committed: 20), position(1, committed: nil)]
        let both = move(partitions, watermark: 900, of: [0, 1], to: [0: 90, 1: 10])
        #expect(both.problems == [])
        #expect(both.commits[id(0)] == CommittedOffset(offset: Offset(90), metadata: "v1 w=900 n=2 t=40"))
        #expect(both.commits[id(1)] == CommittedOffset(offset: Offset(10), metadata: "v1 w=900 n=2 t=0"))
        #expect(
            move(partitions, watermark: 900, of: [0, 1]).problems == [
                "orders.events/1: has no committed offset; give --to as well"
            ])
    }

    @Test("a watermark ahead of the clock is refused")
    func watermarkAhead() {
        let partitions = [position(0, committed: 20), position(1, committed: 30)]
        #expect(move(partitions, watermark: 1_000).problems == [])
        #expect(
            move(partitions, watermark: 1_001).problems == [
                "the watermark 1970-01-01T00:00:01.001Z is ahead of the clock: no timer would be sent until then"
            ])
    }

    @Test("--watermark takes now or a time")
    func watermarkTargets() {
        #expect(WatermarkTarget("now") == .now)
        #expect(WatermarkTarget("1970-01-01T00:00:01Z") == .time(.at(1_000)))
        #expect(WatermarkTarget("earliest") == nil)
        #expect(WatermarkTarget("12") == nil)
    }

    @Test("a partition without a commit, or with a foreign one, gets W = now")
    func noMetadata() {
        let move = move([position(0, committed: nil), position(1, committed: 20, metadata: "")], to: [0: 10, 1: 20])
        #expect(move.problems == [])
        #expect(Set(move.commits.values.map(\.metadata)) == ["v1 w=1000 n=2 t=0"])
    }

    @Test("an offset outside the log is refused; both ends of the log are allowed")
    func range() {
        let partitions = [position(0, committed: 100), position(1, committed: 100)]
        #expect(
            move(partitions, to: [0: 101, 1: 9]).problems == [
                "orders.events/0: offset 101 is not in the log, which goes from 10 to 100",
                "orders.events/1: offset 9 is not in the log, which goes from 10 to 100",
            ])
        #expect(move(partitions, to: [0: 100, 1: 10], resend: true).problems == [])
    }

    @Test("--to takes earliest, latest, a time or an offset")
    func targets() {
        #expect(OffsetTarget("earliest") == .earliest)
        #expect(OffsetTarget("latest") == .latest)
        #expect(OffsetTarget("1970-01-01T00:00:01Z") == .time(.at(1_000)))
        #expect(OffsetTarget("12") == .offset(Offset(12)))
        #expect(OffsetTarget("-1") == nil)
        #expect(OffsetTarget("yesterday") == nil)
    }
}
