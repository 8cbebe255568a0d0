import Testing

@testable import KafkaClient
@testable import Pipeline

@Suite("Which broadcasts there are")
struct BroadcastFoldTests {
    private func record(_ offset: Int64, _ key: String, _ value: String = "{}") -> BroadcastRecord {
        BroadcastRecord(
            offset: offset, timestamp: WallTime(milliseconds: offset), key: Array(key.utf8), value: Array(value.utf8))
    }

    @Test("a later record of a key replaces the first one, and a tombstone cancels it")
    func newest() {
        var fold = BroadcastFold()
        for (offset, key) in [(0, "a"), (1, "b"), (3, "a"), (7, "c")] as [(Int64, String)] {
            fold.take(record(offset, key), isTombstone: false)
        }
        #expect(fold.view.records.map(\.offset) == [1, 3, 7])
        fold.take(record(8, "b", ""), isTombstone: true)
        fold.take(record(9, "never", ""), isTombstone: true)
        #expect(fold.view.records.map(\.offset) == [3, 7])
        #expect((Int64(0)..<12).filter(fold.view.isNewest) == [3, 7])
        #expect(fold.view.reached == 10)
        // Cancelled, and sent again.
        fold.take(record(10, "b"), isTombstone: false)
        #expect(fold.view.records.map(\.offset) == [3, 7, 10])
        // Read a second time.
        fold.take(record(3, "a"), isTombstone: false)
        #expect(fold.view.records.map(\.offset) == [3, 7, 10])
    }

    @Test("a batch that could not be read stands at its last offset, twice if there are two, and replaces nothing")
    func unreadable() {
        var fold = BroadcastFold()
        fold.take(record(0, ""), isTombstone: false)
        for offsets in [Int64(1)...4, 5...5, 1...4] {
            let partition = TopicPartition(topic: "broadcasts", partition: 0)
            fold.take(unreadable: UnreadableBatch(partition: partition, offsets: offsets, reason: "bad"))
        }
        #expect(fold.view.records.map(\.offset) == [0, 4, 5] && fold.view.reached == 6)
        #expect(fold.view.records.map { $0.unreadable?.code.label } == [nil, "unreadable_batch", "unreadable_batch"])
        fold.take(record(6, ""), isTombstone: true)
        #expect(fold.view.records.map(\.offset) == [4, 5])
    }

    @Test("a view is fresh for as long as it was said, from the question for the end on")
    func freshness() {
        let start = ContinuousClock.now
        var view = BroadcastView()
        #expect(!view.isFresh(within: .seconds(1), now: start))
        view.freshSince = start
        #expect(view.isFresh(within: .seconds(1), now: start + .seconds(1)))
        #expect(!view.isFresh(within: .seconds(1), now: start + .milliseconds(1_001)))
    }
}
