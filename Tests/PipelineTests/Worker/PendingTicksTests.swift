import Testing

@testable import Pipeline

@Suite("Ticks that wait for an end")
struct PendingTicksTests {
    @Test("an end that took long to reach is queried again, three times at most")
    func staleTick() {
        var ticks = PendingTicks()
        ticks.pending[0] = .init(time: 10_000, end: 50, questions: 1)
        #expect(ticks.reached { [0: 49, 1: 50][$0] } == [])
        #expect(ticks.reached { [0: 50, 1: 50][$0] } == [0])
        #expect(!ticks.isStale(0, now: 12_000, tick: .seconds(1)))
        #expect(ticks.isStale(0, now: 12_001, tick: .seconds(1)))
        ticks.pending[0]?.questions = PendingTicks.mostQuestions
        #expect(!ticks.isStale(0, now: 99_000, tick: .seconds(1)))
        let start = ContinuousClock.now
        #expect(ticks.isLookDue(.seconds(1), now: start) == true)
        #expect(ticks.isLookDue(.seconds(1), now: start + .milliseconds(999)) == false)
        #expect(ticks.isLookDue(.seconds(1), now: start + .seconds(1)) == true)
    }

    @Test("slices go from partition to partition, keep their T, and end with the tick")
    func slices() {
        var ticks = PendingTicks()
        for partition: Int32 in [0, 1, 4] { ticks.pending[partition] = .init(time: 10_000, end: 5, questions: 1) }
        ticks.fired(0, upTo: TimerWatermark(9_999, split: 7))
        #expect(ticks.reached { _ in 5 } == [1, 4, 0])
        #expect(ticks.isUnderWay)
        #expect(!ticks.isStale(0, now: 99_000, tick: .seconds(1)))
        #expect(ticks.isStale(1, now: 99_000, tick: .seconds(1)))
        ticks.fired(1, upTo: 10_000)
        #expect(ticks.reached { _ in 5 } == [4, 0])
        ticks.fired(4, upTo: 10_000)
        ticks.fired(0, upTo: 10_000)
        #expect(ticks.pending.isEmpty && !ticks.isUnderWay)
    }
}
