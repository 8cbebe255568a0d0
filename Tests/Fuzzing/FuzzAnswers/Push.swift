import FuzzSupport
import JSONReader
import NotificationPayload
import Notifications

@testable import Sender

/// One push in a lane of its own.
struct Push {
    private static let clean = LaneOffset(offset: 0, partitions: 1)

    private let platform: Platform
    private var core: LaneCore

    init(_ platform: Platform) {
        self.platform = platform
        var settings = LaneSettings(
            dispatchTopics: ["notifications.dispatch"], partitions: 1, provider: platform,
            credentials: ["one"])
        settings.perMinute = [600_000]
        core = LaneCore(settings)
        core.assign(0, committed: .init(repeating: Self.clean, count: 4), ends: [0, 0, 0, 0])
        core.recalled(0)
        _ = core.takeTransaction(now: Input.now)
        core.committed()
    }

    /// Sends it, with what a retry's note says, and ends it with an answer.
    consuming func end(with verdict: Verdict, _ status: Int, after note: RetryNote? = nil) {
        let record = LaneRecord(
            partition: 0, source: note?.offset ?? 0, device: 1, deviceHash: String(repeating: "0a", count: 32),
            messageID: "m", platform: platform, credential: 0, expiresAt: .distantFuture)
        if let note {
            let isTaken = core.retry(record, note, tier: 0, at: 0, appendedAt: Input.now - 10_000, now: Input.now)
            expect(isTaken, "an empty window takes a record")
        } else {
            expect(core.dispatch(record, now: Input.now), "an empty window takes a record")
        }
        for request in core.takeRequests(now: Input.now) {
            _ = core.answer(request.tag, verdict, status: status, now: Input.now + 100)
        }
        let written = core.takeTransaction(now: Input.now + 200) ?? LaneTransaction()
        for outcome in written.outcomes { check(outcome) }
        for retry in written.retries {
            expect(RetryNote(retry.note.text) == retry.note, "a note is read as it was written: \(retry.note)")
            expect(note != nil || retry.note.attempts == 1, "the request was an attempt: \(retry.note)")
        }
        let count = written.outcomes.count + written.retries.count
        switch verdict {
        // Without a token, or without an accepted credential, it waits.
        case .refreshCredential, .pauseCredential: expect(count <= 1, "at most one end: \(written)")
        case .accepted, .deadDevice, .refused, .retry, .slowDown: expect(count == 1, "one end: \(written)")
        }
    }

    private func check(_ outcome: DeliveryRecord) {
        var text = ByteWriter()
        outcome.append(to: &text)
        let bytes = Array(text.bytes)
        var reader = JSONReader()
        let again = must { try bytes.withUnsafeBytes { try DeliveryRecord(reader.parse($0)) } }
        expect(again == outcome, "an outcome is read as it was written: \(outcome), \(again)")
    }
}
