import KafkaClient
import Testing

@testable import Streaming

@Suite("Watches: consumers that get nothing, transactions that never end")
struct ConsumerWatchTests {
    private let start = ContinuousClock.now

    @Test("a consumer is looked at after a quiet minute, and not while records come")
    func due() {
        var watch = ConsumerWatch(now: start)
        #expect(!watch.isCheckDue(now: start + .seconds(59)))
        #expect(watch.isCheckDue(now: start + .seconds(60)))
        watch.progressed(hasRecords: true, now: start + .seconds(60))
        #expect(!watch.isCheckDue(now: start + .seconds(119)))
    }

    @Test("a partition that is ahead for a second quiet minute means a stuck consumer")
    func stuck() {
        var watch = ConsumerWatch(now: start)
        let first = watch.isStuck(ends: [0: 10, 1: 5], reached: { _ in 5 }, now: start + .seconds(60))
        #expect(!first)
        #expect(!watch.isCheckDue(now: start + .seconds(100)))
        let second = watch.isStuck(ends: [0: 10, 1: 5], reached: { _ in 5 }, now: start + .seconds(120))
        #expect(second)
    }

    @Test("time in which nothing is read is not quiet, and what was seen before it counts")
    func resumed() {
        var watch = ConsumerWatch(now: start)
        _ = watch.isStuck(ends: [0: 10], reached: { _ in 5 }, now: start + .seconds(60))
        watch.resumed(after: start + .seconds(70), now: start + .seconds(100))
        #expect(!watch.isCheckDue(now: start + .seconds(149)))
        #expect(watch.isCheckDue(now: start + .seconds(150)))
        let isStuck = watch.isStuck(ends: [0: 10], reached: { _ in 5 }, now: start + .seconds(150))
        #expect(isStuck)
    }

    @Test("it is hopeless when the next consumer is stuck as well, and no longer when records come")
    func hopeless() {
        var watch = ConsumerWatch(now: start)
        var verdicts: [Bool] = []
        for minute in 1...3 {
            verdicts.append(watch.isStuck(ends: [0: 10], reached: { _ in 5 }, now: start + .seconds(60 * minute)))
            #expect(watch.isHopeless == (minute == 3))
        }
        #expect(verdicts == [false, true, true])
        watch.progressed(hasRecords: false, now: start + .seconds(190))
        #expect(watch.isHopeless)
        watch.progressed(hasRecords: true, now: start + .seconds(191))
        #expect(!watch.isHopeless)
    }

    @Test("it is not hopeless any more when all that there is has been read")
    func caughtUp() {
        var watch = ConsumerWatch(now: start)
        for minute in 1...3 {
            _ = watch.isStuck(ends: [0: 10], reached: { _ in 5 }, now: start + .seconds(60 * minute))
        }
        #expect(watch.isHopeless)
        _ = watch.isStuck(ends: [0: 10], reached: { _ in 10 }, now: start + .seconds(240))
        #expect(!watch.isHopeless)
    }

    @Test("a consumer that has reached every end is only quiet")
    func quiet() {
        var watch = ConsumerWatch(now: start)
        for minute in 1...3 {
            let verdict = watch.isStuck(ends: [0: 10], reached: { _ in 10 }, now: start + .seconds(60 * minute))
            #expect(!verdict)
        }
    }

    @Test("records between two checks reset the count")
    func progress() {
        var watch = ConsumerWatch(now: start)
        _ = watch.isStuck(ends: [0: 10], reached: { _ in 5 }, now: start + .seconds(60))
        watch.progressed(hasRecords: true, now: start + .seconds(70))
        let verdict = watch.isStuck(ends: [0: 20], reached: { _ in 12 }, now: start + .seconds(130))
        #expect(!verdict)
    }

    @Test("a transaction upstream that stays below the watermark for a minute is reported once a minute")
    func hung() {
        var watch = HungTransactionWatch()
        var verdicts: [Bool] = []
        for seconds in [0, 30, 60, 90, 119, 120] {
            verdicts.append(
                watch.observe(partition: 0, lastStable: 5, highWatermark: 9, now: start + .seconds(seconds)))
        }
        #expect(verdicts == [false, false, true, false, false, true])
        #expect(watch.hung == [0])
        _ = watch.observe(partition: 0, lastStable: 9, highWatermark: 9, now: start + .seconds(121))
        #expect(watch.hung == [])
    }

    @Test("a last stable offset that moves is no hung transaction, however far below the watermark")
    func moving() {
        var watch = HungTransactionWatch()
        for step in 0..<5 {
            let verdict = watch.observe(
                partition: 0, lastStable: Int64(step), highWatermark: 100, now: start + .seconds(50 * step))
            #expect(!verdict)
        }
    }
}
