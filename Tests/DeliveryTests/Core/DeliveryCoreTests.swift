import Deliveries
import Subscriptions
import Testing

@testable import Delivery

/// One process with partition 0.
private struct Lane {
    var core: DeliveryCore
    private var next: Int64 = 0

    init(committed: LaneOffset? = nil, ends: [Int64] = [0, 0, 0, 0], isActive: Bool = true) {
        core = DeliveryCore(
            LaneSettings(
                lane: "fcm", dispatchTopic: "dispatch", partitions: 3, lanes: "0123abcd",
                credentials: ["shop", "other"]))
        let clean = LaneOffset(offset: 0, partitions: 3, lanes: "0123abcd", isClean: true, finished: [])
        core.assign(0, committed: [committed ?? clean, clean, clean, clean], ends: ends)
        core.recalled(0)
        guard isActive else { return }
        _ = core.takeTransaction(now: 0)
        core.committed()
    }

    static func record(
        _ source: Int64, device: UInt64 = 1, expiresAt: Int64 = 100_000_000, credential: Int? = 0
    ) -> LaneRecord {
        LaneRecord(
            partition: 0, source: source, device: device, deviceHash: String(repeating: "0a", count: 32),
            messageID: "m\(source)", platform: .fcm, credential: credential, expiresAt: expiresAt)
    }

    mutating func dispatch(
        device: UInt64 = 1, expiresAt: Int64 = 100_000_000, credential: Int? = 0, now: Int64 = 0
    ) {
        #expect(
            core.dispatch(Self.record(next, device: device, expiresAt: expiresAt, credential: credential), now: now)
                == true)
        next += 1
    }

    /// The sources of the records that are sent now.
    mutating func send(now: Int64 = 0) -> [Int64] { core.takeRequests(now: now).map(\.record.source) }

    mutating func exchange(_ verdict: Verdict, status: Int?, now: Int64) {
        for request in core.takeRequests(now: now) {
            _ = core.answer(request.tag, verdict, status: status, now: now)
        }
    }

    mutating func commit(now: Int64 = 0) -> LaneTransaction {
        let transaction = core.takeTransaction(now: now) ?? LaneTransaction()
        core.committed()
        return transaction
    }

    /// Hands in a record of a retry topic, as it was written.
    mutating func retry(_ retry: LaneTransaction.Retry, at offset: Int64, now: Int64) {
        let appendedAt = now - core.settings.tiers[retry.tier]
        #expect(
            core.retry(retry.record, retry.note, tier: retry.tier, at: offset, appendedAt: appendedAt, now: now) == true
        )
    }
}

private let unavailable = Verdict.retry(reason: "UNAVAILABLE", counts: true, after: nil)

@Suite("A lane: what is sent and what is written")
struct DeliveryCoreTests {
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
            device: String(repeating: "0a", count: 32), platform: .fcm, lane: "fcm", attempts: 1)
        outcome.status = 200
        outcome.providerID = "id"
        outcome.credential = "shop"
        outcome.firstSentAt = 5
        outcome.lastSentAt = 5
        #expect(written.outcomes == [outcome] && written.retries.isEmpty)
        #expect(written.commits.map(\.offset.offset) == [1] && written.commits.allSatisfy { !$0.offset.isClean })
        #expect(lane.core.takeTransaction(now: 8) == nil)
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
        for (source, appendedAt) in [(0, 300), (1, 200), (2, 100)] as [(Int64, Int64)] {
            var record = Lane.record(source, device: UInt64(source))
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

    @Test("what fails goes to the tier of its attempts: 10 s, 1 min, 15 min, 15 min; and is given up after an hour")
    func ladder() throws {
        var lane = Lane()
        lane.dispatch()
        var (now, offsets) = (Int64(0), [Int64](repeating: 0, count: 3))
        var tiers: [Int] = []
        lane.exchange(unavailable, status: 503, now: now)
        while true {
            let written = lane.commit()
            guard let retry = written.retries.first else {
                #expect(written.outcomes.map(\.outcome) == [.gaveUp] && written.outcomes[0].attempts == tiers.count)
                break
            }
            #expect(written.outcomes.isEmpty && retry.note.attempts == tiers.count + 1 && lane.send().isEmpty)
            tiers.append(retry.tier)
            now += lane.core.settings.tiers[retry.tier]
            lane.retry(retry, at: offsets[retry.tier], now: now)
            offsets[retry.tier] += 1
            lane.exchange(unavailable, status: 503, now: now)
        }
        #expect(tiers == [0, 1, 2, 2, 2, 2])
        #expect(lane.core.possiblyTwice == 0)
    }

    @Test("what would be due at its expiry is given up at once")
    func lateRetry() {
        var lane = Lane()
        lane.dispatch(expiresAt: 10_000)
        lane.exchange(unavailable, status: 503, now: 0)
        #expect(lane.commit().outcomes.map(\.outcome) == [.gaveUp])
    }

    @Test("a newer record of a device joins the tier of the one that waits, without an attempt")
    func joins() {
        var lane = Lane()
        lane.dispatch()
        lane.dispatch()
        lane.exchange(unavailable, status: 503, now: 0)
        lane.dispatch()
        let retries = lane.commit().retries
        #expect(retries.map(\.record.source) == [0, 1, 2] && retries.allSatisfy { $0.tier == 0 })
        #expect(retries.map(\.note.attempts) == [1, 0, 0])
    }

    @Test("one that is due before its predecessor hops to that one's tier, which is no attempt")
    func hops() {
        var lane = Lane()
        lane.dispatch()
        lane.dispatch()
        lane.exchange(unavailable, status: 503, now: 0)
        let first = lane.commit().retries
        lane.retry(first[0], at: 0, now: 10_000)
        lane.exchange(unavailable, status: 503, now: 10_000)
        lane.retry(first[1], at: 1, now: 10_000)
        #expect(lane.send(now: 10_000).isEmpty)
        let second = lane.commit().retries
        #expect(second.map(\.record.source) == [0, 1] && second.map(\.tier) == [1, 1])
        #expect(second.map(\.note.attempts) == [2, 0])
        // The first is accepted; then the other may go.
        lane.retry(second[0], at: 0, now: 70_000)
        lane.retry(second[1], at: 1, now: 70_000)
        lane.exchange(.accepted(providerID: nil), status: 200, now: 70_000)
        #expect(lane.send(now: 70_000) == [1])
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
        #expect(second.note.used == 60_000)
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
            as [(Verdict.Evidence, Int64)]
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
        var lane = Lane()
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
        var lane = Lane()
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

@Suite("A lane: transactions and partitions")
struct LaneTransactionTests {
    @Test("answers outlive an aborted transaction, and nothing is sent again")
    func aborted() {
        var lane = Lane()
        lane.dispatch()
        lane.exchange(.accepted(providerID: nil), status: 200, now: 0)
        let first = lane.core.takeTransaction(now: 0)
        #expect(lane.core.takeTransaction(now: 0) == nil)
        lane.dispatch(device: 2)
        lane.exchange(.accepted(providerID: nil), status: 200, now: 1)
        lane.core.aborted()
        #expect(lane.send().isEmpty)
        let second = lane.commit()
        #expect(second.outcomes.map(\.offset) == [0, 1] && first?.outcomes == Array(second.outcomes.prefix(1)))
        #expect(second.commits.map(\.offset.offset) == [2])
    }

    @Test("after an unknown end, the group's offset and bits say whether it committed", arguments: [true, false])
    func unknown(didCommit: Bool) throws {
        var lane = Lane()
        lane.dispatch()
        lane.dispatch(device: 2)
        let requests = lane.core.takeRequests(now: 0)
        // The second alone: the offset stays, only the bits change.
        _ = lane.core.answer(requests[1].tag, .accepted(providerID: nil), status: 200, now: 0)
        let open = lane.core.takeTransaction(now: 0)
        let taken = try #require(open)
        let before = LaneOffset(offset: 0, partitions: 3, lanes: "0123abcd", isClean: false, finished: [])
        #expect(taken.commits.map(\.offset.finished) == [[2]])
        lane.core.resolve { _, _ in didCommit ? taken.commits[0].offset : before }
        #expect(lane.commit().outcomes.map(\.offset) == (didCommit ? [] : [1]))
    }

    @Test("an owner commits that it is not clean before it reads and sends")
    func notClean() {
        var lane = Lane(isActive: false)
        #expect(!lane.core.isReading(0))
        let first = lane.core.takeTransaction(now: 0)
        #expect(first?.commits.count == 4 && first?.commits.contains { $0.offset.isClean } == false)
        #expect(!lane.core.isReading(0))
        lane.core.aborted()
        #expect(!lane.core.isReading(0) && lane.core.takeTransaction(now: 0) != nil)
        lane.core.committed()
        #expect(lane.core.isReading(0))
    }

    private static let clean = LaneOffset(offset: 0, partitions: 3, lanes: "0123abcd", isClean: true, finished: [])
    /// What an owner has left that was not clean: 0 and 2 are finished, 1 and from 3 on may have been sent.
    private static let unclean = LaneOffset(
        offset: 0, partitions: 3, lanes: "0123abcd", isClean: false, finished: [0b101])

    @Test("a take-over from an owner that was not clean counts what it sends again, once; from a clean one nothing")
    func takeOver() {
        var lane = Lane(committed: Self.unclean, ends: [5, 0, 0, 0])
        for source in 0..<7 as Range<Int64> {
            #expect(lane.core.dispatch(Lane.record(source, device: UInt64(source)), now: 0) == true)
        }
        #expect(lane.core.possiblyTwice == 0)
        #expect(lane.send() == [1, 3, 4, 5, 6] && lane.core.possiblyTwice == 3)
        var other = Lane(committed: Self.clean, ends: [5, 0, 0, 0])
        #expect(other.core.dispatch(Lane.record(1), now: 0) == true && other.send() == [1])
        #expect(other.core.possiblyTwice == 0)
    }

    @Test("what may have been sent before is counted when it goes to a retry topic: who sends it then does not know")
    func takeOverToRetry() {
        var lane = Lane(committed: Self.unclean, ends: [5, 0, 0, 0])
        lane.core.lose(0)
        let places = [Self.unclean] + Array(repeating: Self.clean, count: 3)
        lane.core.assign(0, committed: places, ends: [5, 1, 0, 0])
        lane.core.recall(1, of: 0, tier: 0, at: 0, device: 1)
        lane.core.recalled(0)
        _ = lane.commit()
        #expect(lane.core.dispatch(Lane.record(3, device: 1), now: 0) == true)
        #expect(lane.commit().retries.map(\.record.source) == [3] && lane.core.possiblyTwice == 1)
    }

    @Test("an owner that ends before it has ended what was in doubt leaves the doubt to the next one")
    func doubtIsLeft() {
        var lane = Lane(committed: Self.unclean, ends: [5, 0, 0, 0])
        lane.core.revoke(0, now: 0)
        lane.core.tick(now: 1)
        #expect(lane.commit().commits.first?.offset.isClean == false && !lane.core.owns(0))
        lane = Lane(committed: Self.unclean, ends: [2, 0, 0, 0])
        #expect(lane.core.dispatch(Lane.record(1), now: 0) == true)
        lane.exchange(.accepted(providerID: nil), status: 200, now: 0)
        lane.core.revoke(0, now: 0)
        lane.core.tick(now: 1)
        #expect(lane.commit().commits.first?.offset.isClean == true && !lane.core.owns(0))
    }

    @Test("revoked: nothing more is sent, answers are waited for, the last commit is clean")
    func revoked() {
        var lane = Lane()
        lane.dispatch()
        lane.dispatch(device: 2)
        let requests = lane.core.takeRequests(now: 0)
        lane.dispatch(device: 3)
        lane.core.revoke(0, now: 0)
        lane.core.tick(now: 1)
        #expect(lane.send(now: 1).isEmpty && !lane.core.isReading(0))
        for request in requests { _ = lane.core.answer(request.tag, .accepted(providerID: nil), status: 200, now: 2) }
        lane.core.tick(now: 3)
        let last = lane.commit(now: 3)
        #expect(last.outcomes.count == 2 && last.commits.first?.offset.offset == 2)
        #expect(last.commits.count == 4 && last.commits.allSatisfy(\.offset.isClean) && !lane.core.owns(0))
    }

    @Test("revoked with a request that gets no answer for 15 s: not clean")
    func revokedLate() {
        var lane = Lane()
        lane.dispatch()
        let tags = lane.core.takeRequests(now: 0).map(\.tag)
        lane.core.revoke(0, now: 0)
        for now in stride(from: 1_000, to: 15_000, by: 1_000) as StrideTo<Int64> { lane.core.tick(now: now) }
        #expect(lane.core.takeTransaction(now: 14_000) == nil && lane.core.owns(0))
        lane.core.tick(now: 15_000)
        #expect(tags.count == 1 && lane.core.takeCancelled() == tags)
        #expect(lane.commit(now: 15_000).commits.contains { $0.offset.isClean } == false && !lane.core.owns(0))
    }

    @Test("lost: its requests are cancelled, their answers ignored, and nothing of it is written")
    func lost() {
        var lane = Lane()
        lane.dispatch()
        lane.dispatch(device: 2)
        let tags = lane.core.takeRequests(now: 0).map(\.tag)
        _ = lane.core.answer(tags[0], .accepted(providerID: nil), status: 200, now: 1)
        lane.core.lose(0)
        #expect(lane.core.takeCancelled() == [tags[1]] && lane.core.takeCancelled().isEmpty)
        #expect(lane.core.answer(tags[1], .accepted(providerID: nil), status: 200, now: 2) == nil)
        #expect(lane.core.takeTransaction(now: 3) == nil && !lane.core.isReading(0))
    }

    @Test("lost and assigned again: what could be sent before waits for its device's older ones again")
    func lostAndAssignedAgain() {
        var lane = Lane()
        lane.dispatch()
        lane.dispatch()
        lane.dispatch(device: 2)
        lane.exchange(.accepted(providerID: nil), status: 200, now: 0)
        // Now the second one of the first device could be sent. Nothing of it is committed.
        lane.core.lose(0)
        lane.core.assign(0, committed: Array(repeating: Self.clean, count: 4), ends: [3, 0, 0, 0])
        lane.core.recalled(0)
        _ = lane.commit()
        for (source, device) in [(0, 1), (1, 1), (2, 2)] as [(Int64, UInt64)] {
            #expect(lane.core.dispatch(Lane.record(source, device: device), now: 0) == true)
        }
        #expect(lane.send() == [0, 2])
    }

    @Test("a frozen process sends nothing until a transaction that begins afterwards has committed")
    func frozen() {
        var lane = Lane()
        lane.core.tick(now: 0)
        lane.dispatch()
        lane.exchange(.accepted(providerID: nil), status: 200, now: 0)
        let before = lane.core.takeTransaction(now: 0)
        lane.dispatch(device: 2)
        lane.core.tick(now: 22_501)
        #expect(lane.send(now: 22_501).isEmpty && !lane.core.isReading(0))
        // The one that was open does not show it: it may have been sent before.
        lane.core.committed()
        #expect(before != nil && lane.send(now: 22_502).isEmpty)
        let after = lane.core.takeTransaction(now: 22_503)
        #expect(after?.commits.isEmpty == false && lane.send(now: 22_503).isEmpty)
        lane.core.committed()
        #expect(lane.send(now: 22_504) == [1])
    }

    @Test("what waits in the retry topics is recalled: a newer record joins it, and what is finished is not")
    func recalled() {
        var lane = Lane(isActive: false)
        var core = lane.core
        core.recall(0, of: 0, tier: 2, at: 0, device: 7)
        lane.core = core
        _ = lane.commit()
        lane.dispatch()
        lane.dispatch(device: 7)
        #expect(lane.send() == [0])
        #expect(lane.commit().retries.map(\.tier) == [2])
    }
}
