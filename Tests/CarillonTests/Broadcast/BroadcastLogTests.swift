import Broadcasts
import Testing

@testable import carillon

@Suite("The log of broadcasts") struct BroadcastLogTests {
    @Test("a later record of the key replaces a broadcast, and one without a value cancels it")
    func ends() {
        var log = BroadcastLog()
        log.take("1235", at: 0)
        log.take("7", at: 1)
        log.take("1235", at: 2)
        #expect(log.entries.map(\.end) == [.replaced, nil, nil])
        #expect(log.newest("1235")?.offset == 2)
        log.cancel("1235", at: 5)
        #expect(log.entries.map(\.end) == [.replaced, nil, .cancelled(at: 5)])
        #expect(log.isCancelled("1235") && !log.isCancelled("7"))
        #expect(log.newest("1235")?.offset == 2, "how far it had got can still be asked for")
        log.cancel("1235", at: 6)
        #expect(log.newest("1235")?.end == .cancelled(at: 5), "it was over already")
    }

    @Test("an id that was cancelled can be sent again")
    func again() {
        var log = BroadcastLog()
        log.take("1235", at: 0)
        log.cancel("1235", at: 1)
        log.take("1235", at: 2)
        #expect(log.entries.map(\.end) == [.cancelled(at: 1), nil])
        #expect(!log.isCancelled("1235"))
    }

    @Test("ids are compared by their bytes, as Kafka compares keys: an accent that is written otherwise is another id")
    func bytes() {
        var log = BroadcastLog()
        log.take("caf\u{e9}", at: 0)
        log.take("cafe\u{301}", at: 1)
        log.cancel("cafe\u{301}", at: 2)
        #expect(log.entries.map(\.end) == [nil, .cancelled(at: 2)])
        #expect(log.newest("caf\u{e9}")?.offset == 0 && !log.isCancelled("caf\u{e9}"))
    }

    @Test("of a cancelled broadcast compaction may leave only the cancellation")
    func compacted() {
        var log = BroadcastLog()
        log.cancel("1235", at: 1)
        #expect(log.newest("1235") == nil && log.isCancelled("1235"))
    }

    @Test("a bad record replaces a broadcast, too")
    func bad() {
        var log = BroadcastLog()
        log.take("1235", at: 0)
        log.take("1235", at: 1, .failed(.cancelledNothing))
        #expect(log.entries.map(\.end) == [.replaced, nil])
        #expect(log.newest("1235")?.broadcast == nil)
    }
}
