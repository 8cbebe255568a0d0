import Testing

@testable import Replay

@Suite("Whether the subscriptions as of an event are still known")
struct SubscriptionLogTests {
    /// Records as (offset, whether it is younger than the compaction's lag).
    private func log(_ records: [(Int64, Bool)], _ range: Range<Int64>) -> SubscriptionLog {
        var log = SubscriptionLog(bounds: [0: range], youngFrom: 1_000)
        for (offset, isYoung) in records { log.note(partition: 0, offset: offset, timestamp: isYoung ? 2_000 : 500) }
        log.finish(bounds: [0: range])
        return log
    }

    private func isExact(_ log: SubscriptionLog, _ position: Int64) -> Bool {
        log.problem(at: [position], topic: "s", lag: 0) == nil
    }

    @Test("if nothing is missing, everything is exact, however old")
    func whole() {
        let log = log([(0, false), (1, false), (2, true)], 0..<3)
        #expect((0...3).allSatisfy { isExact(log, $0) })
        #expect(log.problem(at: [], topic: "s", lag: 0) == nil)
    }

    @Test("if something is missing, it is exact after the last old record, and after a gap that follows one")
    func compacted() {
        let log = log([(3, false), (4, false), (9, true), (11, true)], 0..<12)
        #expect(!isExact(log, 4) && !isExact(log, 8) && isExact(log, 9) && isExact(log, 12))
        #expect(log.problem(at: [], topic: "s", lag: 0)?.contains("stood at offset 0") == true)
        let young = self.log([(0, false), (1, true), (5, true)], 0..<6)
        #expect(!isExact(young, 0) && isExact(young, 1) && isExact(young, 3))
        let end = self.log([(1, false)], 0..<8)
        #expect(!isExact(end, 2) && isExact(end, 8))
    }

    @Test("a topic that begins later, or has another number of partitions, is refused")
    func cut() {
        #expect(!isExact(log([(5, true)], 5..<6), 6))
        #expect(log([(0, true)], 0..<1).problem(at: [1, 1], topic: "s", lag: 0)?.contains("partitions") == true)
    }
}
