import Notifications
import Pipeline
import TestSupport
import Testing

@testable import Replay

@Suite("Outcomes, counted")
struct DeliverySummaryTests {
    @Test("a quantile is the exact one, or at most 1/32 above it", arguments: UInt64(1)..<6)
    func quantiles(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var histogram = DeliveryHistogram()
        var all: [Int64] = []
        for _ in 0..<2_000 {
            let time = Int64.random(in: 0..<(1 << Int64.random(in: 1...36, using: &random)), using: &random)
            histogram.note(time)
            all.append(time)
        }
        all.sort()
        for fraction in [0.001, 0.25, 0.5, 0.9, 0.99, 1] {
            let exact = all[max(1, Int((fraction * 2_000).rounded(.up))) - 1]
            let found = try #require(histogram.quantile(fraction))
            #expect(found >= exact && found <= exact + exact / 32, "seed \(seed), \(fraction): \(exact) \(found)")
        }
    }

    @Test("the ends: nothing has no quantile, times below zero count as zero, and any number has its place")
    func ends() {
        var histogram = DeliveryHistogram()
        #expect(histogram.quantile(0.5) == nil)
        histogram.note(-5)
        #expect(histogram.quantile(0.5) == 0)
        histogram.note(.max)
        #expect((histogram.quantile(1) ?? 0) >= 1 << 40 && histogram.count == 2)
    }

    @Test("groups differ by platform, credential, app, outcome, status and reason, and by nothing else")
    func groups() {
        var summary = DeliverySummary()
        var records = Array(repeating: DeliveryRecord.sample(at: 1), count: 7)
        records[1].platform = .apns
        records[2].credential = "shop"
        records[3].app = "com.example.shop"
        records[4].outcome = .refused
        records[5].status = 503
        records[6].reason = "UNAVAILABLE"
        for record in records { summary.note(record) }
        #expect(summary.groups.count == 7 && summary.total.count == 7)
        var same = records[0]
        same.offset = 9
        same.attempts = 3
        same.firstSentAt = 1_000
        same.lastSentAt = 1_040
        same.messageID = "another"
        summary.note(same)
        #expect(summary.groups.count == 7 && summary.total.attempts == 10)
        let tally = summary.groups.first { $0.value.count == 2 }?.value
        #expect(tally?.attempts == 4 && tally?.time.count == 1 && tally?.time.quantile(0.5) == 40)
    }

    @Test("more groups than there is room for are counted together")
    func bound() {
        var summary = DeliverySummary()
        for index in 0..<(DeliverySummary.mostGroups + 5) {
            var record = DeliveryRecord.sample(at: 1)
            record.reason = "R\(index)"
            summary.note(record)
            summary.note(record)
        }
        #expect(summary.groups.count == DeliverySummary.mostGroups && summary.others.count == 10)
        #expect(summary.total.count == 2 * DeliverySummary.mostGroups + 10)
    }

    @Test(
        "what phones say is counted by platform, app and kind, once of a push and kind; of more apps than there is room for all together"
    )
    func receipts() {
        var summary = DeliverySummary()
        var pushes = 0
        func said(_ kind: Receipt.Kind, app: String = "a", _ platform: Platform = .fcm) {
            pushes += 1
            // Said twice, to two processes of the API.
            for time in [0, 1] as [WallTime] {
                summary.note(Receipt(kind, of: "m\(pushes)", device: "d", at: time, platform: platform, app: app))
            }
        }
        said(.received)
        said(.received)
        said(.opened)
        said(.opened, .apns)
        for index in 0..<DeliverySummary.mostGroups { said(.dismissed, app: "app-\(index)") }
        #expect(summary.receipts.count == DeliverySummary.mostGroups && summary.otherReceipts == 2)
        #expect(summary.total.count == 0)
        var topics = PipelineConfiguration.Topics()
        #expect(DeliverySummaryReport(summary, topics, from: 0, to: nil).receipts == nil)
        topics.receipts = "notifications.receipts"
        let report = DeliverySummaryReport(summary, topics, from: 0, to: nil)
        #expect(report.receipts?.prefix(2).map { [$0.received, $0.opened, $0.dismissed] } == [[0, 1, 0], [2, 1, 0]])
        #expect(report.receipts?.first?.platform == .apns && report.otherReceipts == 2)
    }
}
