import Notifications
import Pipeline
import Testing

@testable import Sender

/// docs/rules.md §13
@Suite("A lane: what is cancelled and paused")
struct ControlTests {
    private let start: WallTime = 1_000_000
    private let entry = ControlEntry(why: "", by: "test", at: 0)

    /// It follows `topic.control`, in which there is nothing at the start.
    private func lane(_ change: (inout LaneSettings) -> Void = { _ in }) -> Lane {
        var lane = Lane {
            $0.isControlled = true
            change(&$0)
        }
        see([], &lane, at: start)
        return lane
    }

    /// The lane sees these keys' records, read at `time`.
    private func see(_ keys: [String], _ lane: inout Lane, at time: WallTime) {
        var fold = ControlFold()
        for key in keys { fold.take(key: Array(key.utf8), value: entry.json, at: start) }
        lane.core.see(fold.view, askedAt: time, now: time)
    }

    @Test("a cancelled request's pushes are not sent and end as cancelled; the others are sent")
    func cancelled() {
        var lane = lane()
        lane.dispatch(device: 1, request: "a", now: start)
        lane.dispatch(device: 2, request: "b", now: start)
        lane.dispatch(device: 3, now: start)
        see(["cancel/a"], &lane, at: start)
        #expect(lane.send(now: start) == [1, 2])
        let outcomes = lane.commit(now: start).outcomes
        #expect(outcomes.map(\.outcome) == [.cancelled] && outcomes.map(\.offset) == [0])
        #expect(outcomes.allSatisfy { $0.attempts == 0 && $0.reason == nil })
    }

    @Test("a cancel that came before its request holds, and what is behind a cancelled push of its device is sent")
    func before() {
        var lane = lane()
        see(["cancel/a"], &lane, at: start)
        lane.dispatch(request: "a", now: start)
        lane.dispatch(request: "b", now: start)
        #expect(lane.send(now: start) == [1])
        #expect(lane.commit(now: start).outcomes.map(\.outcome) == [.cancelled])
    }

    @Test("a push in a retry topic ends as cancelled when it would be sent, with its last failure")
    func inRetryTopic() throws {
        var lane = lane()
        lane.dispatch(request: "a", now: start)
        lane.exchange(unavailable, status: 503, now: start)
        let retry = try #require(lane.commit(now: start).retries.first)
        let due = start + 10_000
        see(["cancel/a"], &lane, at: due)
        lane.retry(retry, at: 0, now: due)
        #expect(lane.send(now: due).isEmpty)
        let outcome = try #require(lane.commit(now: due).outcomes.first)
        #expect(outcome.outcome == .cancelled && outcome.attempts == 1 && outcome.reason == "UNAVAILABLE")
    }

    /// The lane sees that the command withdraws what its address (that of every push here) has for an audience.
    private func withdraw(_ audience: String, by command: Int64, _ lane: inout Lane, at time: WallTime) throws {
        var fold = ControlFold()
        let address = try #require(AddressHash(hex: Lane.record(.orders, 0).deviceHash))
        fold.take(
            key: Array(ControlKey.address(address, command: command).text.utf8),
            value: WithdrawalEntry.json(of: [audience]), at: time)
        lane.core.see(fold.view, askedAt: time, now: time)
    }

    @Test("after a logout what waits for its person is not sent and ends as cancelled; what another login gets is sent")
    func withdrawn() throws {
        var lane = lane()
        lane.dispatch(device: 1, audience: "user/17", command: 5, now: start)
        lane.dispatch(device: 2, audience: "user/17", command: 8, now: start)
        lane.dispatch(device: 3, audience: "channel/offers", command: 5, now: start)
        lane.dispatch(device: 4, now: start)
        try withdraw("user/17", by: 7, &lane, at: start)
        #expect(lane.send(now: start) == [1, 2, 3])
        let outcomes = lane.commit(now: start).outcomes
        #expect(outcomes.map(\.outcome) == [.cancelled] && outcomes.map(\.offset) == [0])
        #expect(outcomes.allSatisfy { $0.attempts == 0 && $0.reason == "withdrawn" })
    }

    @Test("a push in a retry topic is withdrawn as well, also one of which only the time is known")
    func withdrawnRetry() throws {
        for command: Int64? in [5, nil] {
            var lane = lane()
            lane.dispatch(audience: "user/17", command: command, now: start)
            lane.exchange(unavailable, status: 503, now: start)
            let retry = try #require(lane.commit(now: start).retries.first)
            let due = start + 10_000
            try withdraw("user/17", by: 7, &lane, at: due)
            lane.retry(retry, at: 0, now: due)
            #expect(lane.send(now: due).isEmpty)
            let outcome = try #require(lane.commit(now: due).outcomes.first)
            #expect(outcome.outcome == .cancelled && outcome.attempts == 1 && outcome.reason == "withdrawn")
        }
    }

    @Test("a push that has expired is expired, also a cancelled one; one in flight gets its answer")
    func expiredOrInFlight() {
        var lane = lane()
        lane.dispatch(device: 1, expiresAt: start + 500, request: "a", now: start)
        see(["cancel/a"], &lane, at: start + 500)
        #expect(lane.send(now: start + 500).isEmpty)
        #expect(lane.commit(now: start + 500).outcomes.map(\.outcome) == [.expired])
        lane.dispatch(device: 2, request: "b", now: start + 500)
        let requests = lane.core.takeRequests(now: start + 500)
        see(["cancel/b"], &lane, at: start + 600)
        for request in requests {
            _ = lane.core.answer(request.tag, .accepted(providerID: nil), status: 200, now: start + 600)
        }
        #expect(lane.commit(now: start + 600).outcomes.map(\.outcome) == [.accepted])
    }

    @Test("while the view is older than a second, or was never there, nothing is sent; without topic.control all is")
    func stale() {
        var lane = Lane { $0.isControlled = true }
        lane.dispatch(device: 1, now: start)
        #expect(lane.send(now: start).isEmpty)
        see([], &lane, at: start)
        #expect(lane.send(now: start + 1_001).isEmpty)
        #expect(lane.send(now: start + 1_000) == [0])
        var free = Lane()
        free.dispatch(device: 1, request: "a", now: start)
        #expect(free.send(now: start) == [0])
    }

    @Test("a paused provider gets nothing, records wait, those that are over expire, and after it the rest is sent")
    func paused() {
        var lane = lane()
        see(["pause/fcm"], &lane, at: start)
        lane.dispatch(device: 1, expiresAt: start + 5_000, now: start)
        lane.dispatch(device: 2, now: start)
        #expect(lane.core.isPaused && lane.send(now: start).isEmpty)
        #expect(!lane.core.isReading(0))
        let later = start + 3_600_000
        see(["pause/fcm"], &lane, at: later)
        #expect(lane.send(now: later).isEmpty)
        let written = lane.commit(now: later)
        #expect(written.outcomes.map(\.outcome) == [.expired] && written.retries.isEmpty)
        see([], &lane, at: later)
        #expect(!lane.core.isPaused && lane.send(now: later) == [1])
    }

    @Test("the pause of another provider, or of a credential that the lane does not have, stops nothing")
    func otherPause() {
        var lane = lane()
        lane.dispatch(now: start)
        see(["pause/apns", "pause/fcm/elsewhere", "pause/apns/shop"], &lane, at: start)
        #expect(lane.send(now: start) == [0])
    }

    @Test("with one credential paused the other sends, and what is too much makes way to a retry topic")
    func pausedCredential() throws {
        var lane = lane { $0.inFlight = 4 }
        see(["pause/fcm/shop"], &lane, at: start)
        for device in 0..<4 as Range<UInt64> { lane.dispatch(device: device, credential: 0, now: start) }
        lane.dispatch(device: 9, credential: 1, now: start)
        #expect(lane.send(now: start) == [4])
        let retries = lane.commit(now: start).retries
        #expect(retries.map(\.record.source) == [2, 3] && retries.allSatisfy { $0.tier == 0 && $0.note.attempts == 0 })
        see([], &lane, at: start + 1)
        #expect(lane.send(now: start + 1) == [0, 1])
    }

    @Test("the time of a pause does not count for delivery.give-up")
    func giveUp() throws {
        var lane = lane { $0.longestTry = 60_000 }
        lane.dispatch(device: 1, now: start)
        lane.exchange(unavailable, status: 503, now: start)
        let retry = try #require(lane.commit(now: start).retries.first)
        // The provider works again.
        lane.dispatch(device: 2, now: start)
        lane.exchange(.accepted(providerID: nil), status: 200, now: start)
        see(["pause/fcm"], &lane, at: start + 1)
        let late = start + 600_000
        see([], &lane, at: late)
        #expect(lane.core.retry(retry.record, retry.note, tier: 0, at: 0, appendedAt: start + 1, now: late) == true)
        lane.exchange(unavailable, status: 503, now: late)
        #expect(lane.commit(now: late).retries.count == 1)
    }

    @Test("a credential that its provider does not accept is probed while the pushes of a paused one make way")
    func probedBesidePaused() {
        var lane = lane()
        lane.dispatch(device: 1, credential: 0, now: start)
        lane.exchange(.pauseCredential(reason: "auth"), status: 401, now: start)
        #expect(lane.core.status.pausedCredentials == ["shop"])
        see(["pause/fcm/other"], &lane, at: start + 1)
        lane.dispatch(device: 2, credential: 1, now: start + 1)
        #expect(lane.send(now: start + 1).isEmpty)
        #expect(lane.commit(now: start + 1).retries.map(\.record.source) == [1])
        see(["pause/fcm/other"], &lane, at: start + 60_001)
        #expect(lane.send(now: start + 60_001) == [0])
    }

    @Test("a view that has lost its topic pauses and resumes nothing: nothing is sent until it is there again")
    func lostView() {
        var lane = lane()
        see(["pause/fcm"], &lane, at: start)
        lane.dispatch(now: start)
        lane.core.see(ControlView(), askedAt: nil, now: start + 1)
        #expect(lane.core.isPaused && lane.send(now: start + 1).isEmpty)
    }
}
