import Deliveries
import Foundation
import Pipeline
import Testing

@testable import Replay
@testable import carillon

@Suite("carillon deliveries")
struct DeliveriesCommandTests {
    private static let device = String(repeating: "0a", count: 32)

    private func record(_ outcome: DeliveryOutcome, lane: String = "fcm") -> DeliveryRecord {
        DeliveryRecord(
            outcome, topic: "notifications.dispatch", partition: 0, offset: 1, messageID: "m", device: Self.device,
            platform: .fcm, lane: lane, attempts: 1)
    }

    private func object(_ text: String) throws -> NSDictionary {
        try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? NSDictionary)
    }

    @Test(
        "a wrong option is refused with 64 and named",
        arguments: [
            ["summary", "--from", "soon"], ["summary", "--to", "5"], ["check", "--from", "-5x"],
            ["check", "--list", "-1"], ["check", "--list", "many"],
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
        let text = DeliverySummaryText(
            summary: summary, topic: "notifications.deliveries", from: 0, to: nil)
        #expect(
            text.text == """
                OUTCOMES  REQUESTS  P50   P99   LANE                               CREDENTIAL  PLATFORM  OUTCOME  STATUS  REASON            APP
                2         2         0 ms  0 ms  fcm                                shop        fcm       refused  400     INVALID_ARGUMENT  com.example.shop
                1         1         -     -     fcm                                -           fcm       expired  -       -                 -
                3         3         0 ms  0 ms  all from 1970-01-01T00:00:00.000Z

                """)
        let found = try object(try JSONOutput.text(text.document))
        #expect(found["total"] as? NSDictionary == ["outcomes": 3, "requests": 3, "p50_ms": 0, "p99_ms": 0])
        let groups = try #require(found["groups"] as? [NSDictionary])
        #expect(
            groups == [
                [
                    "lane": "fcm", "credential": "shop", "platform": "fcm", "app": "com.example.shop",
                    "outcome": "refused", "status": 400, "reason": "INVALID_ARGUMENT",
                    "tally": ["outcomes": 2, "requests": 2, "p50_ms": 0, "p99_ms": 0],
                ],
                ["lane": "fcm", "platform": "fcm", "outcome": "expired", "tally": ["outcomes": 1, "requests": 1]],
            ])
        let none = DeliverySummaryText(
            summary: DeliverySummary(), topic: "notifications.deliveries", from: 0, to: 1_000)
        #expect(
            none.text
                == "notifications.deliveries has no outcomes from 1970-01-01T00:00:00.000Z to 1970-01-01T00:00:01.000Z.\n"
        )
    }

    @Test("times are written in milliseconds, then in seconds, then in minutes")
    func times() {
        #expect(
            [0, 999, 1_000, 12_345, 59_999, 60_000].map(DeliverySummaryText.time) == [
                "0 ms", "999 ms", "1.0 s", "12.3 s", "59.9 s", "1m00s",
            ])
    }

    @Test("a check lists its defects with their coordinates, says how many more there are, and what it did not judge")
    func check() throws {
        var report = LaneAuditReport()
        report.topic = "notifications.dispatch"
        report.lanes = ["fcm": .init()]
        report.lanes["fcm"]?.ended = 1_200
        report.lanes["fcm"]?.lost = 2
        report.lost = 2
        report.repeated = 1
        report.defects = [
            .init(.lost, Coordinates(partition: 3, offset: 7), lane: "fcm", messageID: "msg-1"),
            .init(
                .repeated, Coordinates(partition: 3, offset: 9), lane: "fcm", messageID: "msg-2",
                again: Coordinates(partition: 3, offset: 4)),
        ]
        report.idle = ["apns"]
        report.judgedFrom = [3: 1_000]
        report.unreadableOutcomes = 1
        let text = LaneAuditText(reports: [report], topics: PipelineConfiguration.Topics())
        #expect(
            text.text == """
                LANE  WITH OUTCOME  IN RETRY  NOT FINISHED  BEFORE ITS START  LOST
                fcm   1,200         0         0             0                 2
                notifications.dispatch/3/7 of lane fcm, msg-1: finished, without an outcome and without a retry
                notifications.dispatch/3/9 of lane fcm, msg-2: a second outcome at notifications.deliveries/3/4
                and 1 more

                """)
        #expect(
            text.notes == [
                "lane apns has committed nothing of notifications.dispatch: nothing of it is judged",
                "notifications.deliveries/3 no longer has its first outcomes: dispatch records are judged from "
                    + "1970-01-01T00:00:01.000Z on",
                "1 records of notifications.deliveries are no outcomes and were skipped",
            ])
        let found = try object(try JSONOutput.text(text.document))
        #expect(found["lost"] as? Int == 2 && found["repeated"] as? Int == 1)
        #expect(
            (found["defects"] as? [NSDictionary])?.last
                == [
                    "kind": "repeated", "at": "notifications.dispatch/3/9", "lane": "fcm", "message_id": "msg-2",
                    "second_outcome": "notifications.deliveries/3/4",
                ])
        let sound = LaneAuditText(reports: [LaneAuditReport()], topics: PipelineConfiguration.Topics())
        #expect(sound.text.hasSuffix("No defect.\n") && sound.notes.isEmpty)
    }

    @Test("a check of two dispatch topics has a table for each, one verdict, and says only once what both have found")
    func checkOfTwo() throws {
        var orders = LaneAuditReport()
        orders.topic = "notifications.dispatch"
        orders.lanes = ["fcm": .init()]
        orders.unreadableOutcomes = 1
        var broadcasts = orders
        broadcasts.topic = "notifications.dispatch.broadcasts"
        broadcasts.lanes["fcm"]?.lost = 1
        broadcasts.lost = 1
        broadcasts.defects = [.init(.lost, Coordinates(partition: 3, offset: 7), lane: "fcm", messageID: "m")]
        let text = LaneAuditText(reports: [orders, broadcasts], topics: PipelineConfiguration.Topics())
        #expect(
            text.text == """
                notifications.dispatch
                LANE  WITH OUTCOME  IN RETRY  NOT FINISHED  BEFORE ITS START  LOST
                fcm   0             0         0             0                 0

                notifications.dispatch.broadcasts
                LANE  WITH OUTCOME  IN RETRY  NOT FINISHED  BEFORE ITS START  LOST
                fcm   0             0         0             0                 1
                notifications.dispatch.broadcasts/3/7 of lane fcm, m: finished, without an outcome and without a retry

                """)
        #expect(!text.isSound && text.notes.count == 1)
        let found = try object(try JSONOutput.text(text.document))
        #expect(found["lost"] as? Int == 1)
        #expect(
            (found["lanes"] as? [NSDictionary])?.map { $0["topic"] as? String } == [orders.topic, broadcasts.topic])
    }
}
