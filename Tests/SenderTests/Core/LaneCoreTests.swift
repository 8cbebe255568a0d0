import Notifications
import Testing

@testable import Sender

@Suite("A lane: what is sent and what is written")
struct LaneCoreTests {
    @Test("an accepted push: one request, its outcome, and the offset in the same transaction")
    func accepted() throws {
        var lane = Lane()
        lane.dispatch()
        let request = try #require(lane.core.takeRequests(now: 5).first)
        #expect(request.record.source == 0 && request.credential == 0 && lane.send().isEmpty)
        #expect(lane.core.takeTransaction(now: 6) == nil)
        #expect(lane.core.answer(request.tag, .accepted(providerID: "id"), status: 200, now: 7) == nil)
        let written = lane.commit()
        var outcome = DeliveryRecord(
            .accepted, topic: "dispatch", partition: 0, offset: 0, messageID: "m0",
            device: String(repeating: "0a", count: 32), platform: .fcm, attempts: 1)
        outcome.status = 200
        outcome.providerID = "id"
        outcome.credential = "shop"
        outcome.firstSentAt = 5
        outcome.lastSentAt = 5
        #expect(written.outcomes == [outcome] && written.retries.isEmpty)
        #expect(written.commits.map(\.offset.offset) == [1] && written.commits.allSatisfy { $0.offset.sentBelow > 1 })
        #expect(lane.core.takeTransaction(now: 8) == nil)
    }

    @Test("a lane is idle unless something is held, is to be written, or is being written")
    func idle() {
        var lane = Lane()
        #expect(lane.core.isIdle)
        lane.dispatch()
        #expect(!lane.core.isIdle)
        lane.exchange(.accepted(providerID: nil), status: 200, now: 1)
        #expect(!lane.core.isIdle, "its outcome is not written")
        _ = lane.core.takeTransaction(now: 2)
        #expect(!lane.core.isIdle, "the transaction is open")
        lane.core.committed()
        #expect(lane.core.isIdle)
        #expect(!Lane(isActive: false).core.isIdle, "its partition has not begun")
    }

    @Test("past its expiry nothing is sent: expired, or given up after an attempt; without a credential it is refused")
    func notSent() {
        var lane = Lane()
        lane.dispatch(expiresAt: 10, now: 10)
        lane.dispatch(device: 2, expiresAt: 20, now: 10)
        lane.dispatch(device: 3, credential: nil, now: 10)
        #expect(lane.send(now: 20).isEmpty)
        let outcomes = lane.commit().outcomes
        #expect(outcomes.map(\.outcome) == [.expired, .refused, .expired])
        #expect(outcomes.map(\.reason) == [nil, "no_credential", nil])
        #expect(outcomes.allSatisfy { $0.attempts == 0 && $0.firstSentAt == nil })
    }

    @Test("the oldest record of the dispatch topic is known until it has ended or waits in a retry topic")
    func oldest() {
        var lane = Lane()
        for (source, appendedAt) in [(0, 300), (1, 200), (2, 100)] as [(Int64, WallTime)] {
            var record = Lane.record(.orders, source, device: UInt64(source))
            record.appendedAt = appendedAt
            #expect(lane.core.dispatch(record, now: 300) == true)
        }
        #expect(lane.core.status.oldest == 100)
        let requests = lane.core.takeRequests(now: 300)
        _ = lane.core.answer(requests[2].tag, .accepted(providerID: nil), status: 200, now: 300)
        #expect(lane.core.status.oldest == 200)
        _ = lane.core.answer(requests[1].tag, unavailable, status: 503, now: 300)
        #expect(lane.core.status.oldest == 300)
        _ = lane.core.answer(requests[0].tag, .refused(reason: "x"), status: 400, now: 300)
        #expect(lane.core.status.oldest == nil)
    }

    @Test("one request in flight a device, the older first; another device does not wait")
    func order() throws {
        var lane = Lane()
        lane.dispatch()
        lane.dispatch()
        lane.dispatch(device: 2)
        let requests = lane.core.takeRequests(now: 0)
        #expect(requests.map(\.record.source) == [0, 2])
        _ = lane.core.answer(requests[1].tag, .accepted(providerID: nil), status: 200, now: 1)
        #expect(lane.send().isEmpty)
        _ = lane.core.answer(requests[0].tag, .refused(reason: "x"), status: 400, now: 1)
        #expect(lane.send() == [1])
    }

    @Test(
        "what fails goes to the tier of its attempts: 10 s, 1 min, 15 min, 15 min; given up after an hour of others accepted"
    )
    func ladder() throws {
        var lane = Lane()
        lane.dispatch()
        var (now, offsets) = (WallTime.epoch, [Int64](repeating: 0, count: 3))
        var tiers: [Int] = []
        lane.exchange(unavailable, status: 503, now: now)
        while true {
            let written = lane.commit()
            guard let retry = written.retries.first else {
                #expect(written.outcomes.first?.outcome == .gaveUp && written.outcomes[0].attempts == tiers.count + 1)
                break
            }
            #expect(retry.note.attempts == tiers.count + 1 && lane.send().isEmpty)
            tiers.append(retry.tier)
            now += lane.core.settings.tiers[retry.tier]
            lane.retry(retry, at: offsets[retry.tier], now: now)
            offsets[retry.tier] += 1
            lane.exchange(unavailable, status: 503, now: now)
            lane.dispatch(device: 2, now: now)
            lane.exchange(.accepted(providerID: nil), status: 200, now: now)
        }
        #expect(tiers == [0, 1, 2, 2, 2, 2])
        #expect(lane.core.possiblyTwice == 0)
    }

    @Test(
        "a new owner holds a retry back until all before its dispatch record was read: an older push of its device may be there"
    )
    func retryBeforeOlder() {
        var lane = Lane(ends: [3, 1, 0, 0])
        func retry() -> Bool {
            lane.core.retry(
                Lane.record(.orders, 2), RetryNote(offset: 2, attempts: 0, used: 0), tier: 0, at: 0, appendedAt: 0,
                now: 20_000)
        }
        let isFirst = retry()
        lane.dispatch()
        lane.dispatch(device: 2)
        let isNext = retry()
        #expect(!isFirst && isNext)
        #expect(lane.send(now: 20_000) == [0, 1])
    }

    @Test("what would be due at its expiry is given up at once")
    func lateRetry() {
        var lane = Lane()
        lane.dispatch(expiresAt: 10_000)
        lane.exchange(unavailable, status: 503, now: 0)
        #expect(lane.commit().outcomes.map(\.outcome) == [.gaveUp])
    }

    @Test("a Retry-After longer than its tier: another hop, without an attempt and without a request")
    func retryAfter() throws {
        var lane = Lane()
        lane.dispatch()
        lane.exchange(.slowDown(reason: "QUOTA_EXCEEDED", after: 90_000), status: 429, now: 0)
        let first = try #require(lane.commit().retries.first)
        #expect(first.tier == 1 && first.note.notBefore == 90_000)
        lane.retry(first, at: 0, now: 60_000)
        #expect(lane.send(now: 60_000).isEmpty)
        let second = try #require(lane.commit().retries.first)
        #expect(second.tier == 0 && second.note.attempts == 1 && second.note.notBefore == 90_000)
        #expect(second.note.used == 0, "nothing was accepted meanwhile")
    }

    @Test("a time-out counts as possibly twice, a connection that never was neither counts nor is an attempt")
    func possiblyTwice() {
        var lane = Lane()
        lane.dispatch()
        lane.exchange(AttemptFailure.noAnswer(mayHaveArrived: false).verdict, status: nil, now: 0)
        #expect(lane.core.possiblyTwice == 0 && lane.commit().retries.first?.note.attempts == 0)
        lane.dispatch(device: 2)
        lane.exchange(AttemptFailure.noAnswer(mayHaveArrived: true).verdict, status: nil, now: 0)
        #expect(lane.core.possiblyTwice == 1 && lane.commit().retries.first?.note.attempts == 1)
    }

    @Test("the evidence of a dead device is the answer's time, never later than the answer")
    func evidence() {
        for (evidence, expected) in [(Verdict.Evidence.now, 50), (.at(40), 40), (.at(60), 50)]
            as [(Verdict.Evidence, WallTime)]
        {
            var lane = Lane()
            lane.dispatch()
            lane.exchange(.deadDevice(reason: "Unregistered", evidence), status: 410, now: 50)
            let outcome = lane.commit().outcomes.first
            #expect(outcome?.outcome == .deadDevice && outcome?.evidence == expected)
        }
    }

    @Test("over half 5xx pauses the lane: it reads nothing and sends one probe at a time; an answer ends it")
    func lanePause() {
        var lane = Lane()
        for device in 0..<30 as Range<UInt64> { lane.dispatch(device: device) }
        let requests = lane.core.takeRequests(now: 0)
        for request in requests.prefix(20) { _ = lane.core.answer(request.tag, unavailable, status: 503, now: 0) }
        #expect(lane.core.isPaused && !lane.core.isReading(0))
        for request in requests.dropFirst(20) { _ = lane.core.answer(request.tag, unavailable, status: 503, now: 0) }
        lane.dispatch(device: 100)
        lane.dispatch(device: 101)
        #expect(lane.send(now: 9_999).isEmpty)
        let probe = lane.core.takeRequests(now: 10_000)
        #expect(probe.count == 1 && lane.send(now: 60_000).isEmpty)
        _ = lane.core.answer(probe[0].tag, .accepted(providerID: nil), status: 200, now: 60_000)
        #expect(!lane.core.isPaused && lane.core.isReading(0) && lane.send(now: 60_000) == [31])
    }

    @Test("a paused credential keeps its push; a new file or an accepted probe ends it; the pause does not count")
    func credentialPause() throws {
        var lane = Lane { $0.own = [0] }
        lane.dispatch()
        lane.exchange(.pauseCredential(reason: "PERMISSION_DENIED"), status: 403, now: 0)
        #expect(lane.core.isPaused && lane.send(now: 59_999).isEmpty && lane.commit() == LaneTransaction())
        lane.exchange(.pauseCredential(reason: "PERMISSION_DENIED"), status: 403, now: 60_000)
        #expect(lane.send(now: 179_999).isEmpty)
        lane.core.setCredential(0, isReady: true, isNew: true, now: 7_200_000)
        #expect(!lane.core.isPaused)
        lane.exchange(unavailable, status: 503, now: 7_200_000)
        let retry = try #require(lane.commit().retries.first)
        #expect(retry.note.used == 0 && retry.note.attempts == 1)
    }

    @Test("an expired token is replaced once; if that is not accepted either, the credential pauses")
    func refresh() throws {
        var lane = Lane { $0.own = [0] }
        lane.dispatch()
        let first = try #require(lane.core.takeRequests(now: 0).first)
        #expect(lane.core.answer(first.tag, .refreshCredential(reason: "x"), status: 401, now: 0) == 0)
        #expect(lane.send().isEmpty && !lane.core.isPaused)
        lane.core.setCredential(0, isReady: true, now: 1)
        let second = try #require(lane.core.takeRequests(now: 1).first)
        #expect(second.record == first.record)
        #expect(lane.core.answer(second.tag, .refreshCredential(reason: "x"), status: 401, now: 1) == nil)
        #expect(lane.core.isPaused)
    }
}
