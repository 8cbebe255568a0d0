import KafkaClient
import Testing

@testable import Pipeline

@Suite("How far the states of partitions are folded")
struct SourceFoldTests {
    private func needed(_ folds: borrowing SourceFold, committed: Int64, first: Int64?) -> ClosedRange<Int64>? {
        let partition = TopicPartition(topic: "events", partition: 0)
        return folds.needed([0: committed], first: first.map { [partition: Offset($0)] } ?? [:], of: "events")[
            partition]
    }

    @Test("a state in memory counts from the log's first record to the committed offset")
    func memory() {
        var folds = SourceFold(checkpoint: nil)
        let unknown = needed(folds, committed: 20, first: 5)
        #expect(unknown == 5...20)
        for (offset, isUsable) in [(Int64(4), false), (5, true), (20, true), (21, false)] {
            folds.offsets[0] = offset
            let range = needed(folds, committed: 20, first: 5)
            #expect((range == nil) == isUsable, "\(offset)")
        }
        folds.offsets[0] = 0
        let withoutFirst = needed(folds, committed: 20, first: nil)
        #expect(withoutFirst == nil)
    }

    @Test("where a log begins after the committed offset, only its first offset is usable")
    func emptyLog() {
        let folds = SourceFold(checkpoint: nil)
        let range = needed(folds, committed: 20, first: 30)
        #expect(range == 30...30)
    }

    @Test("partitions that another worker owns now are forgotten, with what was reported of them")
    func forget() {
        var folds = SourceFold(checkpoint: nil)
        folds.offsets = [0: 1, 1: 2, 2: 3]
        folds.reported = [0: .complete, 1: .sinceNextRecord]
        let gone = folds.forget(except: [0, 2, 5])
        let (offsets, reported) = (folds.offsets, folds.reported)
        #expect(gone == [1])
        #expect(offsets == [0: 1, 2: 3])
        #expect(reported == [0: .complete])
    }

    @Test(
        "saving takes no more than a fiftieth of the time, counted over all slices, and 10 s lie between two at least")
    func savingInterval() {
        let start = ContinuousClock.now
        var folds = SourceFold(checkpoint: nil)
        folds.saved(isWhole: true, began: start, now: start + .milliseconds(100))
        let soon = folds.savesAt
        #expect(soon == start + .milliseconds(100) + .seconds(10))
        // Two slices of 300 ms: events have as long in between, and then 30 s.
        folds.saved(isWhole: false, began: start, now: start + .milliseconds(300))
        let between = folds.savesAt
        #expect(between == start + .milliseconds(600))
        folds.saved(isWhole: true, began: start + .milliseconds(600), now: start + .milliseconds(900))
        let late = folds.savesAt
        #expect(late == start + .milliseconds(900) + .seconds(30))
        folds.saved(isWhole: true, began: start, now: start)
        let fresh = folds.savesAt
        #expect(fresh == start + .seconds(10))
    }
}
