import Foundation
import Notifications
import Testing

@testable import Replay
@testable import carillon

@Suite("carillon deliveries")
struct DeliveriesCommandTests {
    private static let device = String(repeating: "0a", count: 32)

    private func record(_ outcome: DeliveryOutcome) -> DeliveryRecord {
        DeliveryRecord(
            outcome, topic: "notifications.dispatch", partition: 0, offset: 1, messageID: "m", device: Self.device,
            platform: .fcm, attempts: 1)
    }

    private func object(_ text: String) throws -> NSDictionary {
        try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? NSDictionary)
    }

    @Test(
        "a wrong option is refused with 64 and named",
        arguments: [
            ["summary", "--from", "soon"], ["summary", "--to", "5"],
        ])
    func usage(words: [String]) throws {
        let result = try CommandProcess.run(["deliveries"] + words + ["-b", "127.0.0.1:1"])
        #expect(result.status == 64 && result.errors.contains(words[1]), "\(words): \(result.errors)")
    }

    @Test("a summary has the largest group first, a dash for what is not known, and all at its end")
    func summary() throws {
        var summary = DeliverySummary()
        var refused = record(.refused)
        refused.status = 400
        refused.reason = "INVALID_ARGUMENT"
        refused.credential = "shop"
        refused.app = "com.example.shop"
        refused.firstSentAt = 0
        refused.lastSentAt = 0
        for each in [record(.expired), refused, refused] { summary.note(each) }
        let report = DeliverySummaryReport(summary, PipelineConfiguration.Topics(), from: .epoch, to: nil)
        #expect(
            report.text == """
                OUTCOMES  REQUESTS  P50   P99   PLATFORM  CREDENTIAL  OUTCOME  STATUS  REASON            APP
                2         2         0 ms  0 ms  fcm       shop        refused  400     INVALID_ARGUMENT  com.example.shop
                1         1         -     -     fcm       -           expired  -       -                 -
                all from 1970-01-01T00:00:00.000Z: 3 outcomes, 3 requests, p50 0 ms, p99 0 ms

                """)
        let found = try object(try report.json())
        #expect(found["total"] as? NSDictionary == ["outcomes": 3, "requests": 3, "p50_ms": 0, "p99_ms": 0])
        let groups = try #require(found["groups"] as? [NSDictionary])
        #expect(
            groups == [
                [
                    "credential": "shop", "platform": "fcm", "app": "com.example.shop",
                    "outcome": "refused", "status": 400, "reason": "INVALID_ARGUMENT",
                    "tally": ["outcomes": 2, "requests": 2, "p50_ms": 0, "p99_ms": 0],
                ],
                ["platform": "fcm", "outcome": "expired", "tally": ["outcomes": 1, "requests": 1]],
            ])
        let none = DeliverySummaryReport(
            DeliverySummary(), PipelineConfiguration.Topics(), from: .epoch, to: WallTime(milliseconds: 1_000))
        #expect(
            none.text
                == "notifications.deliveries has no outcomes from 1970-01-01T00:00:00.000Z to 1970-01-01T00:00:01.000Z.\n"
        )
    }

    @Test("with topic.receipts what phones say is a table of its own, also without outcomes")
    func receipts() throws {
        var summary = DeliverySummary()
        summary.note(
            Receipt(.opened, of: "m", device: "d", at: .epoch, platform: .apns, app: "com.example.shop"))
        var topics = PipelineConfiguration.Topics()
        topics.receipts = "notifications.receipts"
        let report = DeliverySummaryReport(summary, topics, from: .epoch, to: nil)
        #expect(
            report.text == """
                notifications.deliveries has no outcomes from 1970-01-01T00:00:00.000Z.
                RECEIVED  OPENED  DISMISSED  PLATFORM  APP
                0         1       0          apns      com.example.shop

                """)
        let said = try #require(try object(try report.json())["receipts"] as? [NSDictionary])
        let wanted: NSDictionary = [
            "platform": "apns", "app": "com.example.shop", "received": 0, "opened": 1, "dismissed": 0,
        ]
        #expect(said == [wanted])
    }

    @Test("times are written in milliseconds, then in seconds, then in minutes")
    func times() {
        #expect(
            [0, 999, 1_000, 12_345, 59_999, 60_000].map(DeliverySummaryReport.time) == [
                "0 ms", "999 ms", "1.0 s", "12.3 s", "59.9 s", "1m00s",
            ])
    }
}
