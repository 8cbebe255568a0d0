import Notifications
import Testing

@testable import Sender

@Suite("A lane: an outcome says why")
struct OutcomeReasonTests {
    private static let clean = LaneOffset(offset: 0, partitions: 1)
    private static let noAnswer = AttemptFailure.noAnswer(mayHaveArrived: true).verdict

    private func core() -> LaneCore {
        var core = LaneCore(
            LaneSettings(
                dispatchTopics: ["dispatch"], partitions: 1, provider: .fcm, credentials: ["shop"]))
        core.assign(0, committed: .init(repeating: Self.clean, count: 4), ends: [0, 0, 0, 0])
        core.recalled(0)
        _ = core.takeTransaction(now: 0)
        core.committed()
        return core
    }

    private func record(expiresAt: WallTime, credential: Int? = 0) -> LaneRecord {
        LaneRecord(
            partition: 0, source: 0, device: 1, deviceHash: String(repeating: "0a", count: 32), messageID: "m",
            platform: .fcm, credential: credential, expiresAt: expiresAt)
    }

    private func fail(_ core: inout LaneCore, _ failures: [(Verdict, Int?)], now: WallTime) {
        for (verdict, status) in failures {
            for request in core.takeRequests(now: now) {
                if let credential = core.answer(request.tag, verdict, status: status, now: now) {
                    core.setCredential(credential, isReady: true, now: now)
                }
            }
        }
    }

    /// What a dispatch record's last failure leaves in the note of its retry.
    private func note(_ verdict: Verdict, _ status: Int?) throws -> RetryNote {
        var core = core()
        #expect(core.dispatch(record(expiresAt: 100_000), now: 0) == true)
        fail(&core, [(.retry(reason: "INTERNAL", counts: true, after: nil), 500)], now: 0)
        let first = try #require(core.takeTransaction(now: 1)?.retries.first)
        core.committed()
        #expect(core.retry(first.record, first.note, tier: 0, at: 0, appendedAt: 0, now: 10_000) == true)
        fail(&core, [(verdict, status)], now: 10_000)
        let second = try #require(core.takeTransaction(now: 10_001)?.retries.first)
        return try #require(RetryNote(second.note.text))
    }

    @Test("a retry's note has the status of the last answer and the reason of the last failure")
    func notes() throws {
        let unavailable = try note(.retry(reason: "UNAVAILABLE", counts: true, after: nil), 503)
        #expect(unavailable.status == 503 && unavailable.reason == "UNAVAILABLE")
        let quota = try note(.slowDown(reason: "QUOTA_EXCEEDED", after: 1_000), 429)
        #expect(quota.status == 429 && quota.reason == "QUOTA_EXCEEDED")
        let silent = try note(Self.noAnswer, nil)
        #expect(silent.status == 500 && silent.reason == "no_answer")
    }

    @Test("given up at its expiry when it is read again; after the longest try one more request decides")
    func atReading() throws {
        for (now, used, sent) in [(200_000, 0, 0), (10_000, 3_600_000, 1)] as [(WallTime, Int64, Int)] {
            var core = core()
            let note = RetryNote(offset: 0, attempts: 2, used: used, status: 503, reason: "UNAVAILABLE")
            #expect(
                core.retry(record(expiresAt: 100_000), note, tier: 0, at: 0, appendedAt: now - 10_000, now: now) == true
            )
            fail(&core, [(.retry(reason: "UNAVAILABLE", counts: true, after: nil), 503)], now: now)
            let outcome = try #require(core.takeTransaction(now: now)?.outcomes.first)
            #expect(outcome.outcome == .gaveUp && outcome.status == 503 && outcome.reason == "UNAVAILABLE")
            #expect(outcome.attempts == 2 + sent)
        }
    }

    @Test("given up or expired while it is held: also why its credential was not accepted")
    func inMemory() throws {
        for (attempts, expected) in [(1, DeliveryOutcome.gaveUp), (0, .expired)] {
            var core = core()
            let note = RetryNote(offset: 0, attempts: attempts, used: 0)
            #expect(core.retry(record(expiresAt: 100_000), note, tier: 0, at: 0, appendedAt: 0, now: 10_000) == true)
            fail(&core, [(.pauseCredential(reason: "PERMISSION_DENIED"), 403)], now: 10_000)
            #expect(core.takeRequests(now: 100_000) == [])
            let outcome = try #require(core.takeTransaction(now: 100_000)?.outcomes.first)
            #expect(outcome.outcome == expected && outcome.status == 403 && outcome.reason == "PERMISSION_DENIED")
        }
    }

    @Test("a note without a reason, as an older version writes it, gives an outcome without one; accepted has none")
    func without() throws {
        var core = core()
        let note = RetryNote(offset: 0, attempts: 1, used: 0)
        #expect(core.retry(record(expiresAt: 100_000), note, tier: 0, at: 0, appendedAt: 0, now: 100_000) == true)
        let outcome = try #require(core.takeTransaction(now: 100_000)?.outcomes.first)
        #expect(outcome.outcome == .gaveUp && outcome.status == nil && outcome.reason == nil)
        var other = self.core()
        let failed = RetryNote(offset: 0, attempts: 1, used: 0, status: 503, reason: "UNAVAILABLE")
        #expect(other.retry(record(expiresAt: 100_000), failed, tier: 0, at: 0, appendedAt: 0, now: 10_000) == true)
        fail(&other, [(.accepted(providerID: "id"), 200)], now: 10_000)
        let accepted = try #require(other.takeTransaction(now: 10_000)?.outcomes.first)
        #expect(accepted.outcome == .accepted && accepted.status == 200 && accepted.reason == nil)
    }

    @Test("a retry whose app has no credential any more is refused, like a new record: it would wait until its expiry")
    func noCredential() throws {
        var core = core()
        let note = RetryNote(offset: 0, attempts: 1, used: 0, status: 503, reason: "UNAVAILABLE")
        let lost = record(expiresAt: 100_000, credential: nil)
        #expect(core.retry(lost, note, tier: 0, at: 0, appendedAt: 0, now: 10_000) == true)
        let outcome = try #require(core.takeTransaction(now: 10_000)?.outcomes.first)
        #expect(outcome.outcome == .refused && outcome.reason == "no_credential")
    }

    @Test("a record that never expires, and the largest numbers of a note, are sent and tried again")
    func largest() throws {
        var core = core()
        let note = RetryNote(
            offset: .max, attempts: 1_000_000_000, used: 0, firstSentAt: 253_402_300_799_999, lastSentAt: 0)
        #expect(
            core.retry(record(expiresAt: .distantFuture), note, tier: 2, at: 0, appendedAt: 0, now: 900_000) == true)
        fail(&core, [(.retry(reason: "x", counts: true, after: 86_400_000), 503)], now: 900_000)
        let retry = try #require(core.takeTransaction(now: 900_000)?.retries.first)
        #expect(retry.note.attempts == 1_000_000_001 && retry.note.notBefore == 87_300_000)
        let old = RetryNote(offset: 0, attempts: 1, used: 253_402_300_799_999, notBefore: 253_402_300_799_999)
        #expect(
            core.retry(record(expiresAt: .distantFuture), old, tier: 2, at: 1, appendedAt: 0, now: 1_800_000) == true)
    }
}
