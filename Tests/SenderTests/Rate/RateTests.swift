import Notifications
import Testing

@testable import Sender

@Suite("The rate of a credential")
struct TokenBucketTests {
    /// How many messages go in `range` if there are always more.
    private func sent(_ bucket: inout TokenBucket, _ range: Range<Int64>, step: Int64 = 10) -> Int {
        var count = 0
        for time in stride(from: range.lowerBound, to: range.upperBound, by: Int64.Stride(step)) {
            while bucket.take(now: .epoch + time) { count += 1 }
        }
        return count
    }

    @Test("§1.5: from zero to 600,000 a minute within a minute, half as many in the first minute as in the second")
    func ramp() {
        var bucket = TokenBucket(perMinute: 600_000)
        #expect(abs(sent(&bucket, 0..<1_000) - 83) <= 10)
        #expect(abs(sent(&bucket, 1_000..<60_000) - 299_917) < 3_000)
        #expect(abs(sent(&bucket, 60_000..<120_000) - 600_000) < 1_200)
    }

    @Test("a process has the share of its partitions")
    func share() {
        var bucket = TokenBucket(perMinute: 600_000, share: 0.25)
        _ = sent(&bucket, 0..<60_000)
        #expect(abs(sent(&bucket, 60_000..<120_000) - 150_000) < 600)
        bucket.setShare(0.5)
        #expect(abs(sent(&bucket, 120_000..<180_000) - 300_000) < 1_200)
    }

    @Test("a smaller share takes what was saved beyond its burst: another process has that part now")
    func smallerShare() {
        var bucket = TokenBucket(perMinute: 600_000)
        _ = sent(&bucket, 0..<60_001)
        _ = bucket.take(now: 120_000)
        bucket.setShare(0.1)
        #expect(sent(&bucket, 120_000..<120_001) == 50)
        bucket.setShare(0)
        #expect(sent(&bucket, 120_001..<180_000) <= 1)
    }

    @Test("what was not used is lost: no burst of more than 50 ms of the rate")
    func burst() {
        var bucket = TokenBucket(perMinute: 600_000)
        _ = sent(&bucket, 0..<60_001)
        #expect(sent(&bucket, 600_000..<600_001) <= 500)
    }

    @Test("a very low rate still sends")
    func slow() {
        var bucket = TokenBucket(perMinute: 6)
        _ = sent(&bucket, 0..<60_000, step: 100)
        #expect((5...7).contains(sent(&bucket, 60_000..<120_000, step: 100)))
    }

    @Test("over 1 % of 429 in a second halves the rate; exactly 1 % does not; it recovers within a minute")
    func throttled() {
        var bucket = TokenBucket(perMinute: 600_000)
        _ = sent(&bucket, 0..<60_000)
        for index in 0..<100 { bucket.answered(index == 0 ? .throttled : .answered, now: 60_500) }
        #expect(bucket.rate(now: 61_000) == 10)
        _ = bucket.take(now: 61_000)
        #expect(bucket.rate(now: 61_000) == 10)
        for index in 0..<100 { bucket.answered(index < 2 ? .throttled : .answered, now: 61_500) }
        _ = bucket.take(now: 62_000)
        #expect(bucket.rate(now: 62_000) == 5)
        for second in 63...200 { _ = bucket.take(now: WallTime(milliseconds: Int64(second) * 1_000)) }
        #expect(bucket.rate(now: 200_000) == 10)
        for second in 201...260 {
            bucket.answered(.throttled, now: WallTime(milliseconds: Int64(second) * 1_000))
        }
        _ = bucket.take(now: 261_000)
        #expect(bucket.rate(now: 261_000) >= 10 / 64 && bucket.rate(now: 261_000) < 0.2)
    }

    @Test("after a pause it begins at zero again")
    func restart() {
        var bucket = TokenBucket(perMinute: 600_000)
        _ = sent(&bucket, 0..<60_000)
        bucket.restart(now: 100_000)
        #expect(abs(sent(&bucket, 100_000..<101_000) - 83) <= 10)
    }
}

@Suite("Pauses")
struct PauseTests {
    @Test("a lane pauses where over half of at least 20 answers of ten seconds failed")
    func lane() {
        var health = ProviderHealth()
        for _ in 0..<19 { #expect(health.record(.failed, of: 1, sentAt: 1_000, now: 1_000) == false) }
        #expect(health.record(.failed, of: 1, sentAt: 1_000, now: 1_000) == true)
        health.reset()
        for index in 0..<200 {
            #expect(health.record(index % 2 == 0 ? .answered : .failed, of: 1, sentAt: 1_000, now: 1_000) == false)
        }
        #expect(health.record(.failed, of: 1, sentAt: 1_000, now: 1_000) == true)
        // Ten seconds later they are forgotten; 429 is no failure.
        for _ in 0..<19 { #expect(health.record(.failed, of: 1, sentAt: 11_000, now: 11_000) == false) }
        for _ in 0..<20 { _ = health.record(.throttled, of: 1, sentAt: 11_000, now: 11_000) }
        #expect(health.record(.failed, of: 1, sentAt: 11_000, now: 11_000) == false)
        #expect(health.record(.failed, of: 1, sentAt: 500_000, now: 500_000) == false)
    }

    @Test("three devices in a row fail by chance where there are many answers, and pause a lane where there are few")
    func chance() {
        var (busy, quiet) = (ProviderHealth(), ProviderHealth())
        for device in 0..<20 as Range<UInt64> { _ = busy.record(.answered, of: device, sentAt: 1_000, now: 1_000) }
        for device in 0..<3 as Range<UInt64> {
            let (isPaused, isQuietPaused) = (
                busy.record(.failed, of: device, sentAt: 1_000, now: 1_000),
                quiet.record(.failed, of: device, sentAt: 1_000, now: 1_000)
            )
            #expect(!isPaused && isQuietPaused == (device == 2))
        }
    }

    @Test("answers of the last ten seconds count together")
    func sliding() {
        var health = ProviderHealth()
        for second in 0..<9 as Range<Int64> {
            let now = WallTime(milliseconds: second * 1_000)
            #expect(
                !health.record(.failed, of: 1, sentAt: now, now: now)
                    && !health.record(.failed, of: 1, sentAt: now, now: now))
        }
        #expect(
            !health.record(.failed, of: 1, sentAt: 9_000, now: 9_000)
                && health.record(.failed, of: 1, sentAt: 9_999, now: 9_999))
        // The first two are out again.
        #expect(
            !health.record(.answered, of: 1, sentAt: 10_000, now: 10_000)
                && health.record(.failed, of: 1, sentAt: 10_000, now: 10_000))
    }

    @Test("one probe at a time, at intervals that double: of a lane 10 to 60 s, of a credential 1 to 15 min")
    func probes() {
        for (pause, seconds) in [
            (ProbedPause.lane(now: 0), [10, 20, 40, 60, 60]),
            (ProbedPause.credential("x", now: 0), [60, 120, 240, 480, 900, 900]),
        ] as [(ProbedPause, [Int64])] {
            var pause = pause
            var now: WallTime = 0
            for wait in seconds {
                now += wait * 1_000
                #expect(!pause.beginProbe(now: now - 1) && pause.probeAt == now)
                #expect(pause.beginProbe(now: now) && !pause.beginProbe(now: now + 1_000_000) && pause.probeAt == nil)
                pause.failed(now: now)
            }
        }
    }

    @Test("a probe that was withdrawn comes again after the same interval; a stray failure changes nothing")
    func withdrawn() {
        var pause = ProbedPause.credential("x", now: 0)
        pause.failed(now: 5)
        #expect(pause.probeAt == 60_000 && pause.beginProbe(now: 60_000))
        pause.withdraw(now: 61_000)
        #expect(pause.probeAt == 121_000)
    }

    @Test("pauses do not count: also one that is not over, and one that began before")
    func clock() {
        var clock = PauseClock()
        #expect(clock.unpaused(from: 0, to: 100_000) == 100_000 && clock.unpaused(from: 100_000, to: 0) == 0)
        clock.begin(now: 10_000)
        clock.begin(now: 15_000)
        #expect(
            clock.isPaused && clock.unpaused(from: 0, to: 30_000) == 10_000
                && clock.unpaused(from: 20_000, to: 30_000) == 0)
        clock.end(now: 40_000)
        clock.end(now: 50_000)
        #expect(
            !clock.isPaused && clock.unpaused(from: 0, to: 100_000) == 70_000
                && clock.unpaused(from: 30_000, to: 100_000) == 60_000)
        clock.begin(now: 60_000)
        clock.end(now: 70_000)
        #expect(clock.unpaused(from: 0, to: 100_000) == 60_000 && clock.unpaused(from: 65_000, to: 68_000) == 0)
    }
}
