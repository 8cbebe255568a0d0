import Notifications
import Testing

@testable import Sender

@Suite("A lane: an outage is waited for, however few its pushes are")
struct OutageTests {
    /// A lane whose retry topics are handed in again when they are due; each second is one step.
    private struct Run {
        var lane: Lane
        /// What a failed request is answered with.
        var failure = unavailable
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
                    fails(request.record.device) ? (failure, 503) : (.accepted(providerID: nil), 200)
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

    @Test("after a pause requests begin with one in flight, and with one more for each that is answered")
    func ramp() {
        var lane = Lane { $0.inFlight = 100 }
        for device in 0..<3 as Range<UInt64> { lane.dispatch(device: device) }
        lane.exchange(unavailable, status: 503, now: 0)
        for device in 100..<400 as Range<UInt64> { lane.dispatch(device: device) }
        lane.exchange(.accepted(providerID: nil), status: 200, now: 10_000)
        #expect(!lane.core.isPaused)
        var (sent, now) = ([Int](), WallTime(milliseconds: 10_000))
        while let requests = Optional(lane.core.takeRequests(now: now)), !requests.isEmpty {
            sent.append(requests.count)
            now += 100
            for (index, request) in requests.enumerated() {
                // Too much for now: it does not grow.
                let isThrottled = sent.count == 4 && index < 2
                let verdict = isThrottled ? Verdict.slowDown(reason: "x", after: 1_000) : .accepted(providerID: nil)
                _ = lane.core.answer(request.tag, verdict, status: isThrottled ? 429 : 200, now: now)
            }
        }
        #expect(sent == [1, 2, 4, 8, 14, 28, 56, 100, 86])
    }

    @Test(
        "a short-lived push is tried again within its life, after the longest delay that fits: the last time near its end",
        arguments: [
            // APNs asks for 15 minutes: obeyed where the push lives so long.
            (.apns, 1_000, nil, [0, 900, 960, 970, 980, 990]),
            (.apns, 2_000, nil, [0, 900, 1_800, 1_860, 1_920, 1_980, 1_990]),
            (.apns, 300, nil, [0, 60, 120, 180, 240, 250, 260, 270, 280, 290]), (.apns, 15, nil, [0, 10]),
            (.apns, 10, nil, [0]),
            // What the answer itself asks for is not undercut.
            (.apns, 300, "200", [0, 200]), (.apns, 300, "300", [0]),
            (.fcm, 300, nil, [0, 10, 70, 130, 190, 250, 260, 270, 280, 290]), (.fcm, 100, "60", [0, 60]),
        ] as [(Platform, Int64, String?, [Int64])])
    func shortLived(platform: Platform, life: Int64, retryAfter: String?, expected: [Int64]) {
        var run = Run { _ in }
        run.lane.dispatch(expiresAt: WallTime(milliseconds: life * 1_000))
        let headers = retryAfter.map { ["retry-after": $0] } ?? [:]
        run.failure = AnswerRow("", 503, "", headers, unavailable).read(from: platform)
        for second in 0..<life { run.step(now: WallTime(milliseconds: second * 1_000)) { _ in true } }
        #expect(run.ends.map(\.outcome) == [.gaveUp])
        #expect(run.sent.map { $0.at.milliseconds / 1_000 } == expected)
    }

    @Test("nor is a wait that a provider's documents ask for longer than a push is tried")
    func shortTry() {
        var run = Run { $0.longestTry = 20_000 }
        run.failure = AnswerRow("", 503, "", [:], unavailable).read(from: .apns)
        run.lane.dispatch()
        for second in 0..<1_000 as Range<Int64> {
            if second % 5 == 0 { run.lane.dispatch(device: 2, now: WallTime(milliseconds: second * 1_000)) }
            run.step(now: WallTime(milliseconds: second * 1_000)) { $0 == 1 }
        }
        #expect(run.sent.filter { $0.device == 1 }.map { $0.at.milliseconds / 1_000 } == [0, 10, 70])
        #expect(run.ends.contains { $0.outcome == .gaveUp && $0.attempts == 3 })
    }

    @Test("the failures of one device alone pause nothing, however many they are; those of three in a row do")
    func threeDevices() {
        var health = ProviderHealth()
        for second in 0..<50 as Range<Int64> {
            #expect(
                health.record(
                    .failed, of: 1, sentAt: WallTime(milliseconds: second * 10_000),
                    now: WallTime(milliseconds: second * 10_000)) == false)
        }
        #expect(health.record(.failed, of: 2, sentAt: 500_000, now: 500_000) == false)
        #expect(health.record(.answered, of: 3, sentAt: 500_000, now: 500_000) == false)
        for device in 1...2 as ClosedRange<UInt64> {
            #expect(health.record(.failed, of: device, sentAt: 600_000, now: 600_000) == false)
        }
        #expect(health.record(.failed, of: 3, sentAt: 700_000, now: 700_000) == true)
    }

    @Test("requests that get no answer in time pause nothing where a later one was answered: that is noticed late")
    func oldRequests() {
        for (answered, isPaused) in [(0, true), (1_000, false)] as [(WallTime, Bool)] {
            var lane = Lane()
            var tags: [UInt64] = []
            for (device, now) in [(4, answered), (1, 500), (2, 500), (3, 500)] as [(UInt64, WallTime)] {
                lane.dispatch(device: device, now: now)
                tags += lane.core.takeRequests(now: now).map(\.tag)
            }
            _ = lane.core.answer(tags[0], .accepted(providerID: nil), status: 200, now: answered + 100)
            for tag in tags.dropFirst() {
                let verdict = Verdict.retry(reason: "no_answer:timeout", counts: true, after: nil)
                _ = lane.core.answer(tag, verdict, status: nil, now: 15_500)
            }
            #expect(tags.count == 4 && lane.core.isPaused == isPaused)
        }
    }

    @Test(
        "nor where they are many, as while nothing is sent, since partitions are given back: those sent beside them count"
    )
    func manyOldRequests() {
        var health = ProviderHealth()
        // A hundred a second for 20 s, of which one has no answer; then nothing, but for what is noticed 15 s later.
        for second in 0..<35 as Range<Int64> {
            let (now, sentAt) = (WallTime(milliseconds: second * 1_000), WallTime(milliseconds: (second - 15) * 1_000))
            for device in 0..<99 as Range<UInt64> where second < 20 {
                let fails = health.record(.answered, of: device, sentAt: now, now: now)
                #expect(!fails)
            }
            for device in 0..<3 as Range<UInt64> where second >= 15 {
                let fails = health.record(.failed, of: device, sentAt: sentAt, now: now)
                #expect(!fails)
            }
        }
    }

    @Test("an outage in which nothing is answered is noticed by those that were sent in its first seconds")
    func silence() {
        var health = ProviderHealth()
        var pausedAt: Int64?
        for second in 0..<50 as Range<Int64> where pausedAt == nil {
            let (now, sentAt) = (WallTime(milliseconds: second * 1_000), WallTime(milliseconds: (second - 15) * 1_000))
            for device in 0..<100 as Range<UInt64> {
                if second < 20 { _ = health.record(.answered, of: device, sentAt: now, now: now) }
                if second >= 35, health.record(.failed, of: device, sentAt: sentAt, now: now) { pausedAt = second }
            }
        }
        #expect(pausedAt == 40)
        // Once a later request was answered, what is noticed of the outage says nothing any more.
        _ = health.record(.answered, of: 1, sentAt: 50_000, now: 50_000)
        health.reset()
        for device in 0..<100 as Range<UInt64> {
            let fails = health.record(.failed, of: device, sentAt: 49_000, now: 51_000)
            #expect(!fails)
        }
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
