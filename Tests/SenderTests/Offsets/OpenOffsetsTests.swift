import Notifications
import TestSupport
import Testing

@testable import Sender

extension OpenOffsets {
    fileprivate func commit() -> LaneOffset { commit(partitions: 3, sentBelow: 0) }
}

@Suite("Open offsets of a partition")
struct OpenOffsetsTests {
    @Test("the first unfinished offset is committed, with the bits of what is finished above it")
    func outOfOrder() {
        var offsets = OpenOffsets(from: 10, window: 64)
        for offset in 10..<15 as Range<Int64> { #expect(offsets.open(offset) == .open) }
        #expect(offsets.openCount == 5 && offsets.commit().offset == 10 && offsets.commit().finished == [])
        #expect(offsets.finish(12) && offsets.finish(14))
        #expect(
            offsets.commit()
                == LaneOffset(offset: 10, partitions: 3, finished: [0b10100]))
        #expect(offsets.finish(10) && offsets.commit().offset == 11 && offsets.commit().finished == [0b1010])
        #expect(offsets.finish(11) && offsets.finish(13) && offsets.commit().offset == 15 && offsets.isIdle)
        #expect(offsets.commit().finished == [])
    }

    @Test("an offset that is not open cannot be finished, and none is opened twice")
    func twice() {
        var offsets = OpenOffsets(from: 10, window: 64)
        #expect(offsets.open(10) == .open && offsets.open(10) == .known && offsets.open(9) == .known)
        #expect(!offsets.finish(11) && !offsets.finish(9) && offsets.finish(10) && !offsets.finish(10))
    }

    @Test("what is no record, a transaction's marker, is finished; also behind the last record")
    func markers() {
        var offsets = OpenOffsets(from: 0, window: 64)
        #expect(offsets.open(2) == .open && offsets.commit().offset == 2)
        #expect(offsets.open(5) == .open && offsets.finish(2) && offsets.commit().offset == 5)
        offsets.skip(to: 9)
        #expect(offsets.commit().offset == 5 && offsets.commit().finished == [0b1110])
        #expect(offsets.finish(5) && offsets.commit().offset == 9)
        offsets.skip(to: 8)
        #expect(offsets.commit().offset == 9)
    }

    @Test("the window is from the first unfinished offset on; a full one takes nothing until that is finished")
    func window() {
        var offsets = OpenOffsets(from: 0, window: 64)
        for offset in 0..<64 as Range<Int64> { #expect(offsets.open(offset) == .open) }
        for offset in 1..<64 as Range<Int64> { offsets.finish(offset) }
        #expect(!offsets.hasRoom(for: 64) && offsets.open(64) == .full)
        offsets.skip(to: 100)
        #expect(offsets.commit().offset == 0)
        #expect(offsets.finish(0) && offsets.hasRoom(for: 64) && offsets.open(64) == .open)
    }

    @Test("a gap wider than the window does not stop a partition that has nothing open")
    func wideGap() {
        var offsets = OpenOffsets(from: 0, window: 64)
        #expect(offsets.open(1_000_000) == .open && offsets.commit().offset == 1_000_000)
        #expect(offsets.open(1_000_064) == .full && offsets.finish(1_000_000))
        offsets.skip(to: 5_000_000)
        #expect(offsets.commit().offset == 5_000_000 && offsets.commit().finished == [])
    }

    @Test("a gap wider than the window keeps what an earlier owner finished behind it")
    func wideGapBeforeFinished() {
        var finished = [UInt8](repeating: 0, count: 20)
        finished[19] = 1
        let committed = LaneOffset(offset: 0, partitions: 3, finished: finished)
        var offsets = OpenOffsets(from: committed, window: 64)
        #expect(offsets.open(150) == .open && offsets.open(152) == .known && offsets.open(153) == .open)
        #expect(offsets.finish(150) && offsets.commit().offset == 153)
    }

    @Test("a gap that reaches what an earlier owner finished does not open it again")
    func gapToFinished() {
        let committed = LaneOffset(offset: 0, partitions: 3, finished: [0b1111_0000])
        var offsets = OpenOffsets(from: committed, window: 64)
        #expect(offsets.open(5) == .known && offsets.commit().offset == 8 && offsets.open(8) == .open)
    }

    @Test("another owner leaves out what is finished, and commits it again before it has read it")
    func takeOver() throws {
        var first = OpenOffsets(from: 100, window: 16_384)
        for offset in 100..<16_484 as Range<Int64> { #expect(first.open(offset) == .open) }
        let finished: Set<Int64> = [101, 102, 109, 4_000, 16_483]
        for offset in finished { first.finish(offset) }
        let committed = first.commit()
        let read = try #require(LaneOffset(offset: committed.offset, metadata: committed.metadata))
        var second = OpenOffsets(from: read, window: 64)
        #expect(second.commit() == committed)
        #expect(read.isFinished(99) && read.isFinished(4_000) && !read.isFinished(4_001))
        for offset in 100..<16_484 as Range<Int64> {
            #expect(second.open(offset) == (finished.contains(offset) ? .known : .open))
            if !finished.contains(offset) { #expect(second.finish(offset) == true) }
        }
        #expect(second.commit().offset == 16_484 && second.commit().finished == [])
    }

    @Test("the first offsets may be finished already: a bitmap that begins with ones")
    func beginsFinished() {
        let committed = LaneOffset(offset: 7, partitions: 3, finished: [0b1011])
        var offsets = OpenOffsets(from: committed, window: 64)
        #expect(offsets.commit().offset == 9 && offsets.commit().finished == [0b10])
        #expect(offsets.open(8) == .known && offsets.open(9) == .open && offsets.open(10) == .known)
        #expect(offsets.finish(9) && offsets.commit().offset == 11)
    }

    @Test("random orders, gaps and take-overs: the same as sets of offsets", arguments: UInt64(0)..<40)
    func naive(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let window = Int.random(in: 64...300, using: &random)
        var offsets = OpenOffsets(from: 0, window: window)
        var open: Set<Int64> = []
        var (next, done) = (Int64(0), Set<Int64>())
        func firstUnfinished() -> Int64 {
            var first = open.min() ?? next
            while done.contains(first) { first += 1 }
            return first
        }
        for _ in 0..<4_000 {
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<9:
                let gap = Int64(
                    Int.random(in: 0..<10, using: &random) == 0 ? Int.random(in: 1...400, using: &random) : 0)
                let result = offsets.open(next + gap)
                guard result != .full else { continue }
                for skipped in next..<next + gap { done.insert(skipped) }
                #expect(result == (done.contains(next + gap) ? .known : .open), "seed \(seed)")
                if result == .open { open.insert(next + gap) }
                next += gap + 1
            case 9..<19:
                guard let offset = open.sorted().randomElement(using: &random) else { continue }
                open.remove(offset)
                done.insert(offset)
                #expect(offsets.finish(offset) == true)
            default:
                let committed = offsets.commit()
                guard committed.offset == firstUnfinished() else {
                    Issue.record("seed \(seed): committed \(committed.offset), first \(firstUnfinished())")
                    return
                }
                let read = try #require(LaneOffset(offset: committed.offset, metadata: committed.metadata))
                guard Int.random(in: 0..<4, using: &random) == 0 else { continue }
                offsets = OpenOffsets(from: read, window: window)
                // What was open comes again.
                next = committed.offset
                open.removeAll()
                done = done.filter { $0 >= next }
            }
            let committed = offsets.commit()
            #expect(open.allSatisfy { !committed.isFinished($0) } && offsets.openCount == open.count, "seed \(seed)")
        }
    }
}
