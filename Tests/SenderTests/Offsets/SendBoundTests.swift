import Notifications
import Testing

@testable import Sender

@Suite("How far a partition may be sent")
struct SendBoundTests {
    private static func bound(from offset: Int64 = 0, sentBelow: Int64? = nil, end: Int64 = 0) -> SendBound {
        SendBound(
            from: LaneOffset(offset: offset, partitions: 3, sentBelow: sentBelow), end: end)
    }

    @Test("nothing at or above the committed bound is sent, and a bound counts once it is committed")
    func committedFirst() {
        var bound = Self.bound(from: 100)
        #expect(bound.allows(100) == false)
        let next = bound.advance(from: 100)
        #expect(next > 101)
        #expect(bound.allows(100) == false)
        bound.commit(bound.advance(from: 100))
        #expect(bound.allows(100) == true)
    }

    @Test("at a steady rate nothing waits for the bound, and at most four times as much is ahead as a transaction has")
    func steady() {
        var bound = Self.bound()
        var offset: Int64 = 0
        for round in 0..<50 {
            let next = bound.advance(from: offset)
            // Half of what is sent between two transactions is sent while one is open.
            for _ in 0..<50 {
                #expect(bound.allows(offset) == true || round < 4)
                bound.send(offset)
                offset += 1
            }
            bound.commit(next)
            for _ in 0..<50 {
                #expect(bound.allows(offset) == true || round < 4)
                bound.send(offset)
                offset += 1
            }
            #expect(bound.committed - offset <= 400)
        }
    }

    @Test("a few pushes never wait for the bound, and need no transaction of their own")
    func quiet() {
        var bound = Self.bound()
        bound.commit(bound.advance(from: 0))
        for offset in 0..<200 as Range<Int64> {
            #expect(!bound.isShort)
            #expect(bound.allows(offset) == true)
            bound.send(offset)
            bound.commit(bound.advance(from: offset + 1))
        }
    }

    @Test("a gap wider than the step is crossed by one transaction, and the step grows by four at most")
    func gap() {
        var bound = Self.bound()
        bound.commit(bound.advance(from: 0))
        #expect(bound.allows(1_000_000) == false && bound.isShort)
        bound.commit(bound.advance(from: 0))
        #expect(bound.allows(1_000_000) == true && bound.committed == 1_000_033 && !bound.isShort)
    }
}
