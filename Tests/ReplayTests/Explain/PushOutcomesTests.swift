import Foundation
import Notifications
import Pipeline
import Testing

@testable import Replay
@testable import carillon

@Suite("What became of a push at its provider")
struct PushOutcomesTests {
    private static let device = String(repeating: "0a", count: 32)

    private func position(_ offset: Int64) -> Coordinates { Coordinates(partition: 0, offset: offset) }

    /// An order's push at 5, sent again to 9; of another one nothing is in the dispatch topic.
    private var explanations: [Explanation] {
        var explanation = Explanation(event: EventCoordinates(0, offset: 1), isTimer: false)
        explanation.outcome = .sent
        explanation.devices = 2
        var push = Explanation.Push(messageID: "msg-1", device: Self.device, positions: [position(5)])
        push.redriven = [.init(id: "r1", position: position(9))]
        explanation.pushes = [push, .init(messageID: "msg-2", device: Self.device, positions: [])]
        return [explanation]
    }

    private func told(_ records: [DeliveryRecord]) -> Explanation {
        var explanations = explanations
        var outcomes = PushOutcomes(of: explanations, in: "notifications.dispatch")
        for record in records { outcomes.note(record) }
        outcomes.add(to: &explanations)
        return explanations[0]
    }

    private func lines(_ explanation: Explanation) -> [String] {
        ExplanationReport(explanation, PipelineConfiguration.Topics()).text.split(separator: "\n").map(String.init)
    }

    private func document(_ explanation: Explanation) throws -> [[String: Any]] {
        let text = try ExplanationReport(explanation, PipelineConfiguration.Topics()).json()
        let found = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
        return try #require(found?["pushes"] as? [[String: Any]])
    }

    @Test("the outcomes of pushes are counted, each at its position, and are complete once all have one")
    func counted() {
        let others = String(repeating: "0b", count: 32)
        var outcomes = PushOutcomes(
            of: [position(5): Self.device, position(6): others, position(7): others], in: "notifications.dispatch")
        #expect(outcomes.partitions == [0])
        outcomes.note(.sample(at: 5))
        outcomes.note(.sample(at: 5))
        outcomes.note(.sample(.refused, at: 6))
        outcomes.note(.sample(at: 8))
        #expect(outcomes.counts == [.accepted: 1, .refused: 1] && !outcomes.areComplete)
        outcomes.note(.sample(at: 7))
        #expect(outcomes.counts == [.accepted: 2, .refused: 1] && outcomes.areComplete)
    }

    @Test("outcomes are found by the coordinates of a push's record and of its copies, and others are not taken")
    func found() {
        var other = DeliveryRecord.sample(at: 5)
        other.topic = "another"
        let records = [
            DeliveryRecord.sample(.refused, at: 5), .sample(at: 6), .sample(at: 9), .sample(at: 5, partition: 1), other,
        ]
        let push = told(records).pushes[0]
        #expect(push.outcomes == [position(5): records[0], position(9): records[2]])
        let outcomes = PushOutcomes(of: explanations, in: "notifications.dispatch")
        #expect(outcomes.partitions == [0])
        Array(Self.device.utf8).withUnsafeBytes { #expect(outcomes.wants($0)) }
        Array("another".utf8).withUnsafeBytes { #expect(!outcomes.wants($0)) }
        #expect(!outcomes.wants(nil))
        #expect(
            PushOutcomes(of: [Explanation(event: EventCoordinates(0, offset: 1), isTimer: false)], in: "d").partitions
                .isEmpty)
    }

    @Test("each outcome is a line below its push, with answer, requests, credential and the provider's id")
    func text() {
        var refused = DeliveryRecord.sample(.refused, at: 5, platform: .apns)
        refused.status = 400
        refused.reason = "BadTopic"
        refused.attempts = 2
        refused.firstSentAt = 0
        refused.lastSentAt = 61_000
        refused.credential = "team"
        var accepted = DeliveryRecord.sample(at: 9)
        accepted.status = 200
        accepted.firstSentAt = 1_000
        accepted.lastSentAt = 1_000
        accepted.providerID = "projects/shop/messages/1"
        let found = lines(told([refused, accepted])).suffix(4)
        #expect(
            Array(found) == [
                "  msg-1 to 0a0a0a0a0a0a… at notifications.dispatch/0/5, re-driven by r1 at notifications.dispatch/0/9",
                "    notifications.dispatch/0/5: refused (400 BadTopic), 2 requests from 1970-01-01T00:00:00.000Z to "
                    + "1970-01-01T00:01:01.000Z, credential team",
                "    notifications.dispatch/0/9: accepted by fcm (200), 1 request at 1970-01-01T00:00:01.000Z, "
                    + "id projects/shop/messages/1",
                "  msg-2 to 0a0a0a0a0a0a… is not in notifications.dispatch",
            ])
    }

    @Test("a push without an outcome says so, and where outcomes are not known nothing else changes")
    func none() throws {
        let known = lines(told([]))
        #expect(known.contains("    notifications.dispatch/0/5: no outcome in notifications.deliveries"))
        let unknown = lines(explanations[0])
        #expect(unknown == known.filter { !$0.contains("no outcome") })
        #expect(try document(explanations[0])[0]["outcomes"] == nil)
        #expect(try (document(told([]))[0]["outcomes"] as? [Any])?.isEmpty == true)
    }

    @Test("in JSON an outcome has the dispatch record's coordinates, and only members that are known")
    func json() throws {
        var record = DeliveryRecord.sample(.gaveUp, at: 9)
        record.status = 503
        record.reason = "UNAVAILABLE"
        record.attempts = 0
        let found = try #require(document(told([record]))[0]["outcomes"] as? [NSDictionary])
        #expect(
            found == [
                [
                    "at": "notifications.dispatch/0/9", "outcome": "gave_up", "status": 503, "reason": "UNAVAILABLE",
                    "platform": "fcm", "attempts": 0,
                ]
            ])
    }

    @Test("every outcome has a sentence", arguments: DeliveryOutcome.allCases)
    func sentences(_ outcome: DeliveryOutcome) throws {
        let line = try #require(lines(told([.sample(outcome, at: 5)])).first { $0.contains("/0/5: ") })
        #expect(line.hasSuffix(", no request"), "\(line)")
    }

    private func receipt(
        _ kind: Receipt.Kind, _ messageID: String = "msg-1", device: String = device, at time: WallTime
    )
        -> Receipt
    {
        Receipt(kind, of: messageID, device: device, at: time, platform: .fcm, app: "com.example.shop")
    }

    @Test("what a phone has said of a push is told below it, of each kind the first; what is said of others is not")
    func receipts() throws {
        var explanations = explanations
        var receipts = PushReceipts(of: explanations)
        let other = String(repeating: "0b", count: 32)
        for said in [
            receipt(.opened, at: 9_000), receipt(.opened, at: 5_000), receipt(.received, at: 4_000),
            receipt(.dismissed, "msg-3", at: 1), receipt(.dismissed, device: other, at: 1),
        ] { receipts.note(said) }
        Array(Self.device.utf8).withUnsafeBytes { #expect(receipts.wants($0)) }
        Array(other.utf8).withUnsafeBytes { #expect(!receipts.wants($0)) }
        receipts.add(to: &explanations)
        #expect(explanations[0].pushes.map(\.receipts) == [[.received: 4_000, .opened: 5_000], [:]])

        var topics = PipelineConfiguration.Topics()
        #expect(try document(explanations[0])[0]["receipts"] == nil)
        topics.receipts = "notifications.receipts"
        let report = ExplanationReport(explanations[0], topics)
        let line = "    its phone: received at 1970-01-01T00:00:04.000Z, opened at 1970-01-01T00:00:05.000Z"
        #expect(report.text.split(separator: "\n").filter { $0.contains("its phone") } == [Substring(line)])
        #expect(report.pushes.map { $0.receipts?.map(\.kind) } == [[.received, .opened], []])
    }
}
