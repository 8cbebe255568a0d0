import TestSupport
import Testing

@testable import Sender

@Suite("How often a lane commits")
struct CommitPaceTests {
    private let start = ContinuousClock.now

    private func pace(_ topics: Set<PushKind> = [.orders, .broadcasts]) -> CommitPace {
        CommitPace(.milliseconds(50), topics: topics, now: start)
    }

    @Test("each interval, where every topic had nothing to read, or something new, since the last commit")
    func caughtUp() {
        var pace = pace()
        pace.found(nil, in: .orders, now: 1_000)
        pace.found(801, in: .broadcasts, now: 1_000)
        #expect(!pace.isDue(now: start + .milliseconds(49)))
        #expect(pace.isDue(now: start + .milliseconds(50)))
    }

    @Test("four times as seldom, where all of one topic has waited for longer than that")
    func behind() {
        var pace = pace()
        pace.found(nil, in: .orders, now: 1_000)
        pace.found(800, in: .broadcasts, now: 1_000)
        #expect(!pace.isDue(now: start + .milliseconds(199)))
        #expect(pace.isDue(now: start + .milliseconds(200)))
    }

    @Test("a commit asks anew, and a topic that is not read is not asked")
    func again() {
        var pace = pace([.orders])
        pace.found(nil, in: .orders, now: 1_000)
        #expect(pace.isDue(now: start + .milliseconds(50)))
        pace.commits(now: start + .milliseconds(50))
        #expect(!pace.isDue(now: start + .milliseconds(100)))
        #expect(pace.isDue(now: start + .milliseconds(250)))
    }
}
