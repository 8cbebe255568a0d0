import Pipeline
import Testing

@testable import KafkaClient
@testable import carillon

/// ADR 23: the clock of a partition is its newest timestamp, and its state expires by that clock.
@Suite struct OffsetMoveAgeTests {
    private static let day: Int64 = 86_400_000
    private static let newest: WallTime = 1_751_871_600_000

    private func id(_ partition: Int32) -> TopicPartition {
        TopicPartition(topic: "orders.events", partition: partition)
    }

    private func move(to targets: [Int32: Int64], newest: WallTime = newest) -> OffsetMove {
        let positions = (0..<2).map { partition in
            GroupPositions.Partition(
                id: id(partition), start: Offset(10), end: Offset(100),
                committed: CommittedOffset(offset: Offset(60), metadata: "v1 w=50 n=2 t=\(newest.milliseconds)"))
        }
        return OffsetMove(
            GroupPositions(partitions: positions),
            targets: Dictionary(uniqueKeysWithValues: targets.map { (id($0.key), Offset($0.value)) }),
            acceptPartitions: false, mayResend: true, now: Self.newest)
    }

    @Test("the log is asked only for partitions that move back, at the horizon before their newest timestamp")
    func times() {
        let moved = move(to: [0: 20, 1: 90])
        #expect(
            moved.rememberedFrom(horizon: .seconds(14 * 86_400)) == [
                id(0): Self.newest - 14 * Self.day
            ])
        #expect(move(to: [0: 20], newest: 0).rememberedFrom(horizon: .seconds(60)).isEmpty)
    }

    @Test(
        "a move back by more than the horizon says of each partition from which offset and time on it applies, and what it means"
    )
    func text() {
        let text = move(to: [0: 20, 1: 30]).ageText(
            horizon: .seconds(14 * 86_400), firsts: [id(0): Offset(45), id(1): Offset(30)])
        #expect(
            text == """
                orders.events/0: offsets 20 to 44, from before 2025-06-23T07:00:00.000Z, are more than state.horizon behind the \
                partition's clock, which stays at 2025-07-07T07:00:00.000Z.
                Nothing is remembered of the orders of such events: one that is in the log twice is sent twice, a status change \
                is sent without the status before it, even where that is the same, and an event without a type notifies nobody. \
                No timer is sent again.

                """)
    }

    @Test("if everything that is read again is that old, the report ends with the committed offset")
    func everything() {
        let text = move(to: [0: 20]).ageText(horizon: .seconds(60), firsts: [id(0): Offset(99)])
        #expect(text.hasPrefix("orders.events/0: offsets 20 to 59, "))
    }

    @Test("a move within the horizon, or forward, does not mention it")
    func silent() {
        #expect(move(to: [0: 50]).ageText(horizon: .seconds(60), firsts: [id(0): Offset(45)]) == "")
        #expect(move(to: [0: 90]).ageText(horizon: .seconds(60), firsts: [id(0): Offset(99)]) == "")
    }
}
