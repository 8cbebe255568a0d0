import Notifications
import Testing

@testable import Sender

@Suite("A lane: credentials beside each other")
struct CredentialIsolationTests {
    /// Pushes of both credentials in turns, each of a device of its own, are read while the lane reads.
    private struct Run {
        var lane: Lane
        var read = 0
        var accepted: [Int] = [0, 0]
        var mostHeld = 0
        var retries: [LaneTransaction.Retry] = []

        init(_ change: (inout LaneSettings) -> Void = { _ in }) {
            lane = Lane {
                $0.inFlight = 8
                change(&$0)
            }
        }

        /// - Returns: how many pushes of each credential were accepted, of 100 each.
        mutating func run(from start: WallTime = 0) -> [Int] {
            for round in 0..<200 as Range<Int64> {
                let now = start + round * 10
                while read < 200, lane.core.isReading(0) {
                    lane.dispatch(device: UInt64(1_000 + read), credential: read % 2, now: now)
                    read += 1
                    mostHeld = max(mostHeld, lane.core.status.held)
                }
                for request in lane.core.takeRequests(now: now) {
                    accepted[request.credential] += 1
                    _ = lane.core.answer(request.tag, .accepted(providerID: nil), status: 200, now: now)
                }
                retries += lane.commit(now: now).retries
            }
            return accepted
        }
    }

    private func expectApart(_ run: Run) {
        #expect(run.read == 200 && run.mostHeld <= 4 * 8)
        #expect(run.retries.allSatisfy { $0.record.credential == 0 && $0.tier == 0 && $0.note.attempts == 0 })
        #expect(run.lane.core.status.held + run.retries.count + run.accepted[0] == 100)
        #expect(run.lane.core.status.held <= 4)
    }

    @Test("a credential that its provider does not accept waits in a retry topic, and the other one sends")
    func paused() {
        var run = Run()
        run.lane.dispatch()
        run.lane.exchange(.pauseCredential(reason: "PERMISSION_DENIED"), status: 403, now: 0)
        run.lane.core.setCredential(0, isReady: true, now: 0)
        #expect(run.run()[1] == 100)
        #expect(run.read == 200 && run.mostHeld <= 4 * 8 && run.accepted[0] == 0)
        #expect(run.lane.core.status.held == 4 && run.retries.count == 97)
        #expect(run.retries.allSatisfy { $0.record.credential == 0 && $0.tier == 0 && $0.note.attempts == 0 })
    }

    @Test("so does one without a token")
    func withoutToken() {
        var run = Run()
        run.lane.core.setCredential(0, isReady: false, now: 0)
        #expect(run.run()[1] == 100)
        expectApart(run)
    }

    @Test("and one that is at its rate")
    func throttled() {
        var run = Run { $0.perMinute = [60, nil] }
        #expect(run.run()[1] == 100)
        expectApart(run)
    }

    @Test(
        "a record that comes back while its credential still waits goes to the next retry topic; at its rate it is not read"
    )
    func comesBack() throws {
        var paused = Run()
        paused.lane.core.setCredential(0, isReady: false, now: 0)
        _ = paused.run()
        for (offset, retry) in paused.retries.prefix(6).enumerated() {
            paused.lane.retry(retry, at: Int64(offset), now: 20_000)
        }
        _ = paused.lane.send(now: 20_000)
        #expect(paused.lane.commit(now: 20_000).retries.map(\.tier) == [Int](repeating: 1, count: 6))
        var throttled = Run { $0.perMinute = [60, nil] }
        _ = throttled.run()
        let retry = try #require(throttled.retries.first)
        let taken = throttled.lane.core.retry(
            retry.record, retry.note, tier: 0, at: 0, appendedAt: 0, now: 20_000)
        #expect(!taken)
    }

    @Test("alone, a credential that waits is not read, and nothing of it is written again")
    func alone() {
        var run = Run { $0.own = [0] }
        run.lane.dispatch()
        run.lane.exchange(.pauseCredential(reason: "PERMISSION_DENIED"), status: 403, now: 0)
        _ = run.run()
        #expect(run.lane.core.isPaused && run.read == 0 && run.retries.isEmpty)
    }

    @Test("time in which a credential waits is no other one's, and its end leaves the rate of the other one as it is")
    func ownClock() throws {
        var lane = Lane { $0.perMinute = [600_000, 600_000] }
        lane.dispatch(device: 1, credential: 0)
        lane.exchange(.pauseCredential(reason: "PERMISSION_DENIED"), status: 403, now: 0)
        lane.dispatch(device: 2, credential: 1)
        let sent = lane.core.takeRequests(now: 0)
        #expect(sent.map(\.credential) == [1])
        _ = lane.core.answer(sent[0].tag, .accepted(providerID: nil), status: 200, now: 50_000)
        lane.dispatch(device: 3, credential: 1, now: 50_000)
        lane.exchange(.slowDown(reason: "QUOTA_EXCEEDED", after: nil), status: 429, now: 55_000)
        let retry = try #require(lane.commit(now: 55_000).retries.first { $0.record.credential == 1 })
        #expect(retry.note.used == 5_000)
        let rate = lane.core.credentials[1].bucket?.rate(now: 60_000)
        lane.core.setCredential(0, isReady: true, isNew: true, now: 60_000)
        #expect(rate ?? 0 > 0 && lane.core.credentials[1].bucket?.rate(now: 60_000) == rate)
    }
}
