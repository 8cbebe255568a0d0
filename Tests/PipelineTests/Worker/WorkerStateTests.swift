import Streaming
import Testing

@testable import Notifications
@testable import Pipeline

@Suite("What a worker keeps in mind")
struct WorkerStateTests {
    @Test("a transaction that is as old as commit.interval.behind begins nothing more")
    func oldTransaction() throws {
        let configuration = PipelineConfiguration(
            kafka: [:], stateDirectory: "/tmp/x", rules: try ExtractionRules())
        let began = ContinuousClock.now
        let transaction = TransactionTime(clock: 0, began: began)
        #expect(!transaction.isOld(configuration, now: began + .milliseconds(499)))
        #expect(transaction.isOld(configuration, now: began + .milliseconds(500)))
    }

    @Test("a refold says its rate and when it will be done, every 10 s")
    func refoldReport() {
        let start = ContinuousClock.now
        var report = RefoldReport(of: [.orders, .requests], total: 1_000, now: start)
        report.add(500)
        #expect(report.line(left: 750, now: start + .seconds(9)) == nil)
        #expect(
            report.line(left: 750, now: start + .seconds(10))
                == "folds the state of orders and requests: 50 records/s, 750 offsets left, ready in about 30 s")
        #expect(report.line(left: 700, now: start + .seconds(11)) == nil)
        report.add(300)
        #expect(
            report.end(now: start + .seconds(20))
                == "the state of orders and requests is complete: 800 records in 20 s")
    }

    @Test("the tag of a record leads back to its event")
    func eventTags() {
        for source in SourceKind.allCases {
            let event = EventCoordinates(SourcePartition(source, 513), offset: 1 << 45)
            #expect(EventTag.coordinates(EventTag.make(event)) == event)
        }
        #expect(EventTag.coordinates(EventTag.none) == nil)
    }
}
