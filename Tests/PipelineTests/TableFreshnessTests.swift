import Testing

@testable import Pipeline

/// `subscriptions.max-lag` (design §6, "subscription change").
@Suite("Fan-out pauses when the subscriptions table is too old")
struct TableFreshnessTests {
    private let start = ContinuousClock.now

    @Test("a table that stands at ends which nobody answers for any more is too old after max-lag")
    func unanswered() {
        var freshness = TableFreshness(maxLag: .seconds(10), now: start)
        freshness.asked(at: start + .seconds(5), isAnswered: true)
        freshness.reachedEnd()
        for seconds in [6, 8, 14] {
            freshness.asked(at: start + .seconds(seconds), isAnswered: false)
            freshness.reachedEnd()
        }
        #expect(freshness.staleFrom == start + .seconds(15))
    }

    @Test("ends that took long to tell are as old as the question")
    func slowAnswer() {
        var freshness = TableFreshness(maxLag: .seconds(10), now: start)
        freshness.asked(at: start + .seconds(20), isAnswered: true)
        #expect(freshness.staleFrom == start + .seconds(10))
        freshness.reachedEnd()
        #expect(freshness.staleFrom == start + .seconds(30))
    }

    @Test("the ends are asked for once a second, and four times in a shorter max-lag")
    func interval() {
        for (maxLag, milliseconds) in [(Duration.seconds(30), 1_000), (.seconds(1), 250)] {
            var freshness = TableFreshness(maxLag: maxLag, now: start)
            #expect(freshness.isQueryDue(now: start))
            freshness.asked(at: start, isAnswered: false)
            #expect(!freshness.isQueryDue(now: start + .milliseconds(milliseconds - 1)))
            #expect(freshness.isQueryDue(now: start + .milliseconds(milliseconds)))
        }
    }

    @Test("the gate closes by itself when its time is over, and opens for a fresh table")
    func gate() {
        let gate = TableGate(freshFor: .seconds(10), now: start)
        #expect(gate.isOpen(0, now: start + .seconds(10)))
        #expect(!gate.isOpen(0, now: start + .milliseconds(10_001)))
        gate.setStale(from: start + .seconds(25))
        #expect(gate.isOpen(0, now: start + .seconds(25)))
        #expect(gate.isLagging(now: start + .seconds(26)))
    }
}
