import Notifications
import Pipeline
import Telemetry
import TestSupport
import Testing

@testable import Sender

@Suite("The meter of a sender: what monitoring sees")
struct SenderMeterTests {
    private let metrics = Metrics()
    private let meter: SenderMeter

    init() {
        meter = SenderMeter(metrics: metrics)
    }

    /// One outcome and one record for the second retry topic.
    private static var transaction: LaneTransaction {
        let device = String(repeating: "0", count: 64)
        var transaction = LaneTransaction()
        transaction.outcomes = [
            DeliveryRecord(
                .gaveUp, topic: "dispatch", partition: 0, offset: 7, messageID: "m", device: device, platform: .apns,
                attempts: 3)
        ]
        transaction.retries = [
            LaneTransaction.Retry(
                tier: 1,
                record: LaneRecord(
                    partition: 0, source: 8, device: DeviceOrder.device(of: device), deviceHash: device,
                    messageID: "n", platform: .fcm, credential: 0, expiresAt: 1),
                note: RetryNote(offset: 8, attempts: 1, used: 0))
        ]
        return transaction
    }

    /// Counts one of everything.
    private func countAll() throws {
        meter.answered(.fcm, status: 200, duration: .milliseconds(80))
        meter.committed(Self.transaction) { $0 == .tier(.orders, 1) ? "retry.1m" : "\($0)" }
        meter.unreadable("dispatch")
        meter.aborted()
        let board = SenderBoard()
        board.set(SenderBoard.Lane(holds: [""], tokenAges: ["shop": .zero], lag: 4), of: .fcm)
        board.stop(.apns, because: "no such file")
        meter.observe(board)
        let configuration = PipelineConfiguration(
            kafka: [:], stateDirectory: "", rules: try ExtractionRules(), instanceID: "test")
        meter.observe(deadDevicesStay: true)
        meter.observe(ControlFollower(configuration, logger: Logger(label: "test"), metrics: Metrics()))
    }

    private func labels(of family: MetricsSnapshot.Family) -> [String] {
        guard let series = family.series.first else { return [] }
        let names = series.labels.map(\.name)
        return if case .histogram = series.value { names + ["le"] } else { names }
    }

    private func names(in cell: Substring) -> [String] {
        cell.split(separator: "`").map(String.init).filter { $0.contains { $0.isLetter } }
    }

    @Test("docs/metrics.md has every metric of the sender with its labels, and no other")
    func metricsTable() throws {
        try countAll()
        var documented: [String: [String]] = [:]
        for row in try Page("docs/metrics.md").rows(below: "| Metric of the sender | Labels | Meaning |") {
            let cells = row.split(separator: "|")
            try #require(cells.count > 2)
            for name in names(in: cells[0]) { documented[name] = names(in: cells[1]) }
        }
        let registered = metrics.snapshot().families.map { ($0.name, labels(of: $0)) }
        #expect(documented == Dictionary(uniqueKeysWithValues: registered))
    }

    @Test("A request counts by its status, or as one without an answer; a transaction by what it has committed")
    func counts() throws {
        try countAll()
        meter.answered(.fcm, status: 200, duration: nil)
        meter.answered(.fcm, status: nil, duration: nil)
        let found = metrics.snapshot()
        let requests = "carillon_delivery_requests_total"
        #expect(found.value(requests, labels: ["platform": "fcm", "status": "200"]) == .counter(2))
        #expect(found.value(requests, labels: ["platform": "fcm", "status": "none"]) == .counter(1))
        #expect(
            found.value("carillon_delivery_outcomes_total", labels: ["platform": "apns", "outcome": "gave_up"])
                == .counter(1))
        #expect(found.value("carillon_delivery_retries_total", labels: ["topic": "retry.1m"]) == .counter(1))
        #expect(found.value("carillon_delivery_retries_total", labels: ["topic": "retry.10s"]) == nil)
        #expect(meter.reading == SenderMeter.Reading(requests: 3, outcomes: 1, accepted: 0, retries: 1))
    }

    @Test("A lane has its series while it runs; its lag once it was measured")
    func lanes() {
        let board = SenderBoard()
        meter.observe(board)
        board.set(
            SenderBoard.Lane(
                inFlight: 3, headAge: .milliseconds(1_500), possiblyTwice: 2, isPaused: true,
                pausedCredentials: ["shop"], tokenAges: ["shop": .seconds(90)]), of: .fcm)
        let found = metrics.snapshot()
        #expect(found.value("carillon_delivery_in_flight", labels: ["platform": "fcm"]) == .gauge(3))
        #expect(found.value("carillon_delivery_head_age_seconds", labels: ["platform": "fcm"]) == .gauge(1.5))
        let age = found.value("carillon_delivery_token_age_seconds", labels: ["platform": "fcm", "credential": "shop"])
        #expect(age == .gauge(90))
        #expect(found.value("carillon_delivery_paused", labels: ["platform": "fcm"]) == .gauge(1))
        #expect(found.value("carillon_delivery_credentials_paused", labels: ["platform": "fcm"]) == .gauge(1))
        #expect(found.value("carillon_delivery_credentials_unready", labels: ["platform": "fcm"]) == .gauge(0))
        #expect(found.value("carillon_delivery_possibly_twice_total", labels: ["platform": "fcm"]) == .counter(2))
        #expect(found.value("carillon_delivery_lag", labels: ["platform": "fcm"]) == nil)
        board.stop(.apns, because: "no such file")
        #expect(metrics.snapshot().value("carillon_delivery_stopped", labels: ["platform": "apns"]) == .gauge(1))
        board.remove(.fcm)
        #expect(metrics.snapshot().value("carillon_delivery_in_flight", labels: ["platform": "fcm"]) == nil)
    }
}
