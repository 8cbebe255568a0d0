import Deliveries
import Testing

@testable import Delivery

@Suite("A lane: an outage is waited for, however few its pushes are")
struct OutageTests {
    /// A lane whose retry topics are handed in again when they are due; each second is one step.
    private struct Run {
        var lane: Lane
        var ends: [DeliveryRecord] = []
        var sent: [(at: WallTime, device: UInt64)] = []
        private var waiting: [(due: WallTime, retry: LaneTransaction.Retry)] = []
        private var offsets: [Int64] = [0, 0, 0]

        init(_ change: (inout LaneSettings) -> Void) { lane = Lane(change) }

        /// - Parameter fails: whether a device's request fails now.
        mutating func step(now: WallTime, fails: (UInt64) -> Bool) {
            lane.core.tick(now: now)
            // As the worker does each round.
            lane.core.setCredential(0, isReady: true, now: now)
            for (index, each) in waiting.enumerated().reversed() where each.due <= now {
                waiting.remove(at: index)
                lane.retry(each.retry, at: offsets[each.retry.tier], now: now)
                offsets[each.retry.tier] += 1
            }
            for request in lane.core.takeRequests(now: now) {
                sent.append((now, request.record.device))
                let (verdict, status) =
                    fails(request.record.device) ? (unavailable, 503) : (.accepted(providerID: nil), 200)
                _ = lane.core.answer(request.tag, verdict, status: status, now: now)
            }
            let written = lane.commit(now: now)
            ends += written.outcomes
            waiting += written.retries.map { (now + lane.core.settings.tiers[$0.tier], $0) }
        }
    }

    @Test("a push every 4 s, nothing accepted for 70 s, given up after 20 s: it pauses, and every push is accepted")
    func lowVolume() {
        var run = Run { $0.longestTry = 20_000 }
        for second in 0..<2_000 as Range<Int64> {
            let now = WallTime(milliseconds: second * 1_000)
            if second < 120, second % 4 == 0, run.lane.core.isReading(0) {
                run.lane.dispatch(device: UInt64(second), now: now)
            }
            run.step(now: now) { _ in second < 70 }
            if second == 9 { #expect(run.lane.core.isPaused) }
        }
        #expect(run.ends.count > 10 && run.ends.allSatisfy { $0.outcome == .accepted })
        // Three failures, then one probe after 10, 20 and 40 s: the last one is accepted.
        #expect(run.sent.count { $0.at < 70_000 } <= 6)
    }

    @Test("a lane with one push alone: it never pauses for it, and the time of the outage is not the push's own")
    func onePush() {
        var run = Run { $0.longestTry = 20_000 }
        run.lane.dispatch()
        for second in 0..<1_000 as Range<Int64> {
            run.step(now: WallTime(milliseconds: second * 1_000)) { _ in second < 70 }
            #expect(!run.lane.core.isPaused)
        }
        #expect(run.ends.map(\.outcome) == [.accepted] && run.sent.count == 3)
    }

    @Test("a device whose pushes always fail pauses nobody while others are accepted, and is given up after its time")
    func oneDevice() {
        var run = Run { $0.longestTry = 20_000 }
        for second in 0..<200 as Range<Int64> {
            let now = WallTime(milliseconds: second * 1_000)
            if second % 5 == 0 { run.lane.dispatch(device: 1, expiresAt: now + 100_000, now: now) }
            if second % 7 == 0 { run.lane.dispatch(device: 2, now: now) }
            run.step(now: now) { $0 == 1 }
            #expect(!run.lane.core.isPaused)
        }
        let accepted = run.ends.count { $0.outcome == .accepted }
        #expect(accepted == 29 && run.ends.contains { $0.outcome == .gaveUp })
    }

    @Test("the failures of one device alone pause nothing, however many they are; those of three in a row do")
    func threeDevices() {
        var health = ProviderHealth()
        for second in 0..<50 as Range<Int64> {
            #expect(health.record(.failed, of: 1, now: WallTime(milliseconds: second * 10_000)) == false)
        }
        #expect(health.record(.failed, of: 2, now: 500_000) == false)
        #expect(health.record(.answered, of: 3, now: 500_000) == false)
        for device in 1...2 as ClosedRange<UInt64> {
            #expect(health.record(.failed, of: device, now: 600_000) == false)
        }
        #expect(health.record(.failed, of: 3, now: 700_000) == true)
    }

    @Test("a short gap between two answers takes no place of a long outage's")
    func gaps() {
        var clock = PauseClock()
        clock.begin(now: 0)
        clock.end(now: 70_000)
        for gap in 100..<300 as Range<Int64> {
            clock.begin(now: WallTime(milliseconds: gap * 1_000))
            clock.end(now: WallTime(milliseconds: gap * 1_000 + 900))
        }
        #expect(clock.unpaused(from: 0, to: 80_000) == 10_000)
    }
}
