import Testing

@testable import Digests
@testable import Notifications
@testable import Pipeline

@Suite("Where a worker is in the partitions of a topic")
struct TopicPositionsTests {
    private let metadata = OffsetMetadata(watermark: 7, partitions: 6, newestTimestamp: 100)

    private func record(_ partition: Int32, _ offset: Int64, at timestamp: WallTime) -> EventRecord {
        EventRecord(
            partition: partition, offset: offset, timestamp: timestamp, key: nil, value: nil)
    }

    private func owning(_ offsets: [Int32: Int64]) -> TopicPositions {
        var positions = TopicPositions()
        positions.assign(
            offsets.mapValues { CommittedPosition(offset: $0, metadata: metadata) }, partitionCount: 6)
        return positions
    }

    @Test("a position is the last processed offset and one, whatever gaps the control records leave")
    func positionsCount() {
        var positions = owning([0: 10, 3: 0])
        positions.advance(over: record(0, 10, at: 5), latest: .distantFuture)
        positions.advance(over: record(0, 14, at: 200), latest: .distantFuture)
        var seen: [Int32: Int64] = [:]
        positions.forEachUncommitted { seen[$0] = $1.next }
        #expect(seen == [0: 15])
        #expect(positions[0].map { positions.metadata(of: $0).text } == "v1 w=7 n=6 t=200")
    }

    @Test("records that were processed before, and those of partitions of others, are not taken")
    func acceptance() {
        var positions = owning([0: 10])
        positions.advance(over: record(0, 10, at: 0), latest: .distantFuture)
        #expect(!positions.accepts(partition: 0, offset: 10))
        #expect(positions.accepts(partition: 0, offset: 11))
        #expect(!positions.accepts(partition: 1, offset: 11))
        #expect(!positions.accepts(partition: 99, offset: 11))
    }

    @Test("an abort goes back to what is committed, the newest timestamp included")
    func rollBack() {
        var positions = owning([0: 10])
        positions.advance(over: record(0, 10, at: 500), latest: .distantFuture)
        positions.commit()
        positions.advance(over: record(0, 11, at: 900), latest: .distantFuture)
        positions.rollBack()
        #expect(positions[0]?.next == 11)
        #expect(positions[0]?.newestTimestamp == 500)
    }

    @Test("what is committed is not committed again")
    func nothingToCommit() {
        var positions = owning([0: 10])
        positions.advance(over: record(0, 10, at: 0), latest: .distantFuture)
        positions.commit()
        var moved = 0
        positions.forEachUncommitted { _, _ in moved += 1 }
        #expect(moved == 0)
    }

    @Test("whether a range is incomplete goes by the newest timestamp at its first record")
    func newestAtFirst() {
        var positions = owning([0: 10])
        #expect(positions[0]?.newestAtFirst == 100)
        positions.advance(over: record(0, 10, at: 500), latest: .distantFuture)
        positions.advance(over: record(0, 11, at: 900), latest: .distantFuture)
        #expect(positions[0]?.newestAtFirst == 500)
        positions.commit()
        #expect(positions[0]?.newestAtFirst == 900)
        positions.advance(over: record(0, 12, at: 700), latest: .distantFuture)
        #expect(positions[0]?.newestAtFirst == 900)
    }

    @Test("the first record of a transaction is remembered, until it is committed or aborted")
    func firstRecord() {
        var positions = owning([0: 10])
        for _ in 0..<2 {
            positions.advance(over: record(0, 12, at: 500), latest: .distantFuture)
            positions.advance(over: record(0, 13, at: 600), latest: .distantFuture)
            #expect(positions[0]?.first == RecordFingerprint(offset: 12, timestamp: 500, key: nil as StoredHash?))
            positions.rollBack()
            #expect(positions[0]?.first == nil)
        }
        positions.fire(partition: 0, upTo: 90, tick: 95)
        #expect(positions[0]?.tickTime == 95)
        positions.commit()
        #expect(positions[0]?.tickTime == nil)
    }

    @Test("a watermark that moves is committed without an event, and goes back with an abort")
    func watermark() {
        var positions = owning([0: 10, 1: 5])
        positions.fire(partition: 0, upTo: 90, tick: 90)
        var seen: [Int32: [Int64]] = [:]
        positions.forEachUncommitted {
            seen[$0] = [
                $1.committed, $1.next, $1.committedWatermark.time.milliseconds, $1.watermark.time.milliseconds,
            ]
        }
        #expect(seen == [0: [10, 10, 7, 90]])
        #expect(positions[0].map { positions.metadata(of: $0).text } == "v1 w=90 n=6 t=100")
        positions.rollBack()
        #expect(positions[0]?.watermark == 7)
        positions.fire(partition: 0, upTo: 95, tick: 95)
        positions.commit()
        positions.rollBack()
        #expect(positions[0]?.watermark == 95)
        #expect(positions[0]?.committedWatermark == 95)
    }

    @Test("with no timers of our own the watermark of what is committed moves along, and never back")
    func passedTimers() {
        var positions = owning([0: 10, 1: 5])
        positions.advance(over: record(0, 10, at: 0), latest: .distantFuture)
        positions.passTimers(until: 90)
        var seen: [Int32: [WallTime]] = [:]
        positions.forEachUncommitted { seen[$0] = [$1.committedWatermark.time, $1.watermark.time] }
        #expect(seen == [0: [7, 90]])
        positions.rollBack()
        #expect(positions[0]?.watermark == 7)
        positions.advance(over: record(0, 10, at: 0), latest: .distantFuture)
        positions.passTimers(until: 3)
        #expect(positions[0]?.watermark == 7)
    }

    @Test(
        "records below the committed offset are folded, and the state is complete at one after them or at the end"
    )
    func folds() {
        var positions = TopicPositions()
        positions.assign(
            [
                0: CommittedPosition(offset: 20, metadata: metadata),
                1: CommittedPosition(offset: 5, metadata: metadata),
            ], folds: [0: 12, 1: 5], partitionCount: 6)
        #expect(positions.foldingCount == 1)
        #expect(positions.leftToFold == 8)
        #expect(!positions.isToFold(partition: 0, offset: 11))
        #expect(positions.isToFold(partition: 0, offset: 12))
        #expect(positions.isToFold(partition: 0, offset: 19))
        #expect(!positions.isToFold(partition: 0, offset: 20))
        #expect(!positions.isToFold(partition: 1, offset: 4))
        #expect(positions.fold(partition: 0, upTo: 18) == false)
        #expect(positions[0]?.isFolding == true)
        // The offsets up to 20 are control records: only the next record shows that.
        #expect(positions.fold(partition: 0, upTo: 23) == true)
        #expect(positions.foldingCount == 0)
        #expect(positions[0]?.folded == 20)
    }

    @Test("what was folded beside an open transaction goes back with it")
    func foldsRollBack() {
        var positions = TopicPositions()
        positions.assign([0: CommittedPosition(offset: 20, metadata: metadata)], folds: [0: 0], partitionCount: 6)
        _ = positions.fold(partition: 0, upTo: 8)
        positions.commitFolds()
        #expect(positions.fold(partition: 0, upTo: 20) == true)
        positions.rollBack()
        #expect(positions.committedFolds == [0: 8])
        #expect(positions.foldingCount == 1)
        #expect(positions.isToFold(partition: 0, offset: 8))
        // Behind the rewind the broker has more committed: what is folded stays.
        positions.assign(
            [0: CommittedPosition(offset: 30, metadata: metadata)], folds: positions.committedFolds, partitionCount: 6)
        #expect(positions.leftToFold == 22)
    }

    @Test("the newest timestamp that the fold has seen is committed from then on")
    func foldedTimestamp() {
        var positions = TopicPositions()
        positions.assign([0: CommittedPosition(offset: 20, metadata: metadata)], folds: [0: 0], partitionCount: 6)
        positions.raiseNewest(partition: 0, to: 400)
        positions.raiseNewest(partition: 0, to: 300)
        positions.rollBack()
        #expect(positions[0]?.newestTimestamp == 400)
    }

    @Test("the end of a partition after control records counts as reached (docs/kafka.md 19)")
    func reached() {
        var positions = TopicPositions()
        let metadata = OffsetMetadata(watermark: 0, partitions: 1, newestTimestamp: 0)
        positions.assign([0: CommittedPosition(offset: 2, metadata: metadata)], partitionCount: 1)
        positions.advance(
            over: EventRecord(partition: 0, offset: 2, timestamp: nil, key: nil, value: nil), latest: .distantFuture)
        positions.reach(partition: 0, offset: 4)
        #expect(positions[0]?.reached == 4)
        #expect(positions[0]?.next == 3)
    }
}
