import Testing

@testable import Hosting

@Suite("Calls that hang, and calls that wait for a broker")
struct HangWatchTests {
    /// A call that begins at 0 and never ends, looked at each second.
    ///
    /// - Parameter away: the seconds in which no broker answers.
    /// - Returns: the second at which it counts as hanging, if it does within an hour.
    private func end(away: [Range<Int>], limit: Int = 60) -> Int? {
        let start = ContinuousClock.now
        var watch = HangWatch(limit: .seconds(limit))
        for second in 0..<3_600 {
            let (now, calls) = (start + .seconds(second), ["worker 0": start])
            guard watch.mustAsk(calls, now: now) else { continue }
            if watch.hears(!away.contains { $0.contains(second) }, calls, now: now) != nil { return second }
        }
        return nil
    }

    @Test(
        "only time in which brokers answer counts, and it begins anew with each question that none answers",
        arguments: [
            // A broker answers all the time; is away in the middle, twice, from the beginning; does not come back.
            (away: [], end: 61), ([20..<40], 101), ([20..<40, 90..<100], 161), ([0..<600], 661), ([30..<3_600], nil),
            // It goes just before the end; is away for one question, and between two.
            ([59..<120], 181), ([51..<52], 116), ([57..<61], 61),
        ] as [(away: [Range<Int>], end: Int?)])
    func table(away: [Range<Int>], end: Int?) {
        #expect(self.end(away: away) == end)
    }

    @Test("a broker is asked only while a call takes long, every 5 s; a call that begins later has its own time")
    func questions() {
        let start = ContinuousClock.now
        var watch = HangWatch(limit: .seconds(60))
        func mustAsk(_ calls: [String: Int], at second: Int) -> Bool {
            watch.mustAsk(calls.mapValues { start + .seconds($0) }, now: start + .seconds(second))
        }
        #expect(!mustAsk([:], at: 100))
        #expect(!mustAsk(["a": 100], at: 105))
        #expect(mustAsk(["a": 100], at: 106))
        #expect(!mustAsk(["a": 100, "b": 107], at: 110))
        #expect(mustAsk(["a": 100, "b": 107], at: 111))
        #expect(watch.asked != nil)
        #expect(!mustAsk(["b": 107], at: 112))
        #expect(watch.asked == nil)
        let calls = ["a": start + .seconds(100), "b": start + .seconds(90)]
        #expect(watch.hears(true, calls, now: start + .seconds(150)) == nil)
        #expect(watch.hears(true, calls, now: start + .seconds(151)) == "b")
        #expect(watch.hears(true, calls, now: start + .seconds(161)) == "a", "the first by name")
    }
}
