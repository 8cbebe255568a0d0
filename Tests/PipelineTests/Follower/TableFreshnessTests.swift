import Testing

@testable import Pipeline

/// `subscriptions.max-lag` and `delete.retention.ms` (docs/code.md §6, "subscription change").
@Suite("How old the subscriptions table is")
struct TableFreshnessTests {
    private let start = ContinuousClock.now

    private func freshness(maxLag: Duration = .seconds(10), largestAge: Duration = .seconds(3_600)) -> TableFreshness {
        TableFreshness(maxLag: maxLag, largestAge: largestAge, asOf: start)
    }

    @Test("a table at ends that are no longer answered is too old after max-lag")
    func unanswered() {
        var freshness = freshness()
        freshness.asked(at: start + .seconds(5), isAnswered: true)
        let isReached = freshness.reachedEnd(now: start + .seconds(5))
        #expect(isReached)
        for seconds in [6, 8, 14] {
            freshness.asked(at: start + .seconds(seconds), isAnswered: false)
            _ = freshness.reachedEnd(now: start + .seconds(seconds))
        }
        #expect(freshness.staleFrom == start + .seconds(15))
        #expect(freshness.asOf == start + .seconds(5))
        #expect(!freshness.isAnswered)
    }

    @Test("ends that took long to arrive are as old as their query")
    func slowAnswer() {
        var freshness = freshness()
        freshness.asked(at: start + .seconds(20), isAnswered: true)
        #expect(freshness.staleFrom == start + .seconds(10))
        let isReached2 = freshness.reachedEnd(now: start + .seconds(40))
        #expect(isReached2)
        #expect(freshness.staleFrom == start + .seconds(30))
    }

    @Test("the ends are queried once a second, and four times within a shorter max-lag")
    func interval() {
        for (maxLag, milliseconds) in [(Duration.seconds(30), 1_000), (.seconds(1), 250)] {
            var freshness = freshness(maxLag: maxLag)
            #expect(freshness.isQueryDue(now: start))
            freshness.asked(at: start, isAnswered: false)
            #expect(!freshness.isQueryDue(now: start + .milliseconds(milliseconds - 1)))
            #expect(freshness.isQueryDue(now: start + .milliseconds(milliseconds)))
        }
    }

    @Test("without an answer whose ends were reached, a table is too old after its largest age")
    func tooOld() {
        var freshness = freshness()
        freshness.asked(at: start + .seconds(10), isAnswered: true)
        // Answered, and never reached.
        freshness.asked(at: start + .seconds(3_000), isAnswered: true)
        #expect(!freshness.isTooOld(now: start + .seconds(3_600)))
        #expect(freshness.isTooOld(now: start + .seconds(3_601)))
        #expect(freshness.age(now: start + .seconds(3_601)) == .seconds(3_601))
    }

    @Test("an answer does not make a table fresh if the process was suspended while it queried or read")
    func suspended() {
        var freshness = freshness()
        // Queried after it woke up: the tombstones of the hours before may have been removed.
        freshness.asked(at: start + .seconds(7_200), isAnswered: true)
        let isReached3 = freshness.reachedEnd(now: start + .seconds(7_201))
        #expect(!isReached3)
        #expect(freshness.asOf == start)
        #expect(freshness.isTooOld(now: start + .seconds(7_201)))
        // Asked before it fell asleep, read after.
        freshness = self.freshness()
        freshness.asked(at: start + .seconds(1), isAnswered: true)
        let isReached4 = freshness.reachedEnd(now: start + .seconds(7_200))
        #expect(!isReached4)
        #expect(freshness.asOf == start)
    }

    @Test("a table that is read again is as old as the question for its first offsets, whatever was answered before")
    func restarted() {
        var freshness = freshness()
        freshness.asked(at: start + .seconds(7_200), isAnswered: true)
        freshness.restarted(at: start + .seconds(7_201))
        #expect(freshness.isQueryDue(now: start + .seconds(7_201)))
        let isReached5 = freshness.reachedEnd(now: start + .seconds(7_202))
        #expect(!isReached5)
        #expect(freshness.asOf == start + .seconds(7_201))
        freshness.asked(at: start + .seconds(7_203), isAnswered: true)
        let isReached6 = freshness.reachedEnd(now: start + .seconds(7_204))
        #expect(isReached6)
        #expect(freshness.asOf == start + .seconds(7_203))
    }

    @Test("fan-out pauses before the table is too old, where max-lag is longer than that")
    func shortRetention() {
        #expect(freshness(maxLag: .seconds(30), largestAge: .seconds(5)).staleFrom == start + .seconds(5))
    }

    @Test("the gate closes by itself when its time is over, and opens for a fresh table")
    func gate() {
        let gate = TableGate(freshFor: .seconds(10), now: start)
        #expect(gate.isOpen(0, now: start + .seconds(10)))
        #expect(!gate.isOpen(0, now: start + .milliseconds(10_001)))
        gate.setStale(from: start + .seconds(25))
        #expect(gate.isOpen(0, now: start + .seconds(25)))
        #expect(gate.isLagging(now: start + .seconds(26)))
        gate.close()
        #expect(gate.isLagging(now: start))
        gate.setStale(from: start + .seconds(25))
        #expect(gate.isOpen(0, now: start + .seconds(25)))
    }

    @Test("fan-out waits for the barrier that was requested at the assignment")
    func barrier() {
        let gate = TableGate(freshFor: .seconds(30))
        let barrier = gate.requestBarrier()
        #expect(!gate.isOpen(barrier))
        #expect(gate.isAwaited)
        gate.pass(gate.newestRequest)
        #expect(gate.isOpen(barrier))
        let later = gate.requestBarrier()
        #expect(gate.isOpen(barrier) && !gate.isOpen(later))
    }
}
