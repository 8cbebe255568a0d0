import Telemetry
import Testing

@testable import Notifications
@testable import Pipeline

@Suite("The meter: what monitoring sees")
struct PipelineMeterTests {
    @Test("the table has every count: a property without a row would be neither added nor published")
    func complete() {
        let numbers = Mirror(reflecting: Counts()).children.reduce(0) { sum, child in
            switch child.value {
            case is Int: sum + 1
            case is LabelledCounts<SourceKind>: sum + SourceKind.allCases.count
            case is LabelledCounts<DeadLetter.Code>: sum + DeadLetter.Code.allCases.count
            case is LabelledCounts<SuppressionReason>: sum + SuppressionReason.allCases.count
            case is LabelledCounts<TimerDrop>: sum + TimerDrop.allCases.count
            case is LabelledCounts<FieldSource>: sum + FieldSource.allCases.count
            // Its labels are those of the settings.
            case is MissingAudiences: sum
            default: sum + 1_000
            }
        }
        #expect(numbers == Counts.table.count)
        #expect(Set(Counts.table.map(\.value)).count == Counts.table.count)
        #expect(Set(Counts.table.map { "\($0.name) \($0.labels)" }).count == Counts.table.count)
    }

    @Test("§5.4: audiences that were left out are counted by their templates, where the settings name any")
    func missingAudiences() {
        let metrics = Metrics()
        let meter = PipelineMeter(metrics: metrics, audiences: ["place/{place_id}", "user/{customer_id}"])
        for count in 1...2 {
            var counts = Counts()
            counts.missingAudiences[1] = count
            meter.add(counts)
        }
        let text = metrics.snapshot().prometheusText()
        #expect(text.contains(#"carillon_missing_audiences_total{audience="place/{place_id}"} 0"#))
        #expect(text.contains(#"carillon_missing_audiences_total{audience="user/{customer_id}"} 3"#))
        #expect(meter.reading.counts.missingAudiences[1] == 3)
        let usual = Metrics()
        _ = PipelineMeter(metrics: usual)
        #expect(!usual.snapshot().prometheusText().contains("missing_audiences"))
    }

    @Test("every count that is added reaches its own series, and the sum of the process")
    func published() {
        let metrics = Metrics()
        let meter = PipelineMeter(metrics: metrics)
        var counts = Counts()
        for (index, row) in Counts.table.enumerated() { counts[keyPath: row.value] = index + 1 }
        meter.add(counts)
        meter.add(counts)
        for (index, row) in Counts.table.enumerated() {
            #expect(
                metrics.snapshot().value(row.name, labels: row.labels) == .counter(Double(2 * (index + 1))),
                "\(row.name)")
            #expect(meter.reading.counts[keyPath: row.value] == 2 * (index + 1))
        }
    }

    @Test("what becomes of a record is counted for its topic, and in all")
    func byTopic() {
        var counts = Counts()
        for (source, events) in [(SourceKind.orders, 5), (.requests, 3)] {
            for _ in 0..<events { counts.countEvent(of: source) }
            counts.count(notifications: events - 2, dispatches: 10 * events, of: source)
            counts.countDeadLetter(.invalidJSON, of: source)
            counts.countSuppressed(.noSubscriber, of: source)
        }
        counts.countDeadLetter(.invalidJSON, of: .orders)
        counts.countDeadLetter(.noPlace, of: .orders)
        counts.countDeadLetter(.badRequest, of: .requests)
        counts.countSuppressed(.expired, of: .requests)
        #expect(counts.events == 8 && counts.events(of: .orders) == 5 && counts.events(of: .requests) == 3)
        #expect(counts.notifications == 4)
        #expect(
            counts.dispatches == 80 && counts.dispatches(of: .orders) == 50 && counts.dispatches(of: .requests) == 30)
        #expect(counts.deadLetters == 5)
        #expect(counts.deadLetters(.invalidJSON) == 3 && counts.deadLetters(.badRequest) == 1)
        #expect(counts.suppressed(.noSubscriber) == 2 && counts.suppressed(.expired) == 1)

        let metrics = Metrics()
        PipelineMeter(metrics: metrics).add(counts)
        func value(_ name: String, _ labels: Metrics.Labels) -> MetricsSnapshot.Value? {
            metrics.snapshot().value("carillon_\(name)_total", labels: labels)
        }
        #expect(value("events", ["topic": "events"]) == .counter(5))
        #expect(value("events", ["topic": "requests"]) == .counter(3))
        #expect(value("dispatches", ["topic": "requests"]) == .counter(30))
        #expect(value("dead_letters", ["topic": "events", "code": "invalid_json"]) == .counter(2))
        #expect(value("dead_letters", ["topic": "requests", "code": "invalid_json"]) == .counter(1))
        #expect(value("suppressed_events", ["topic": "requests", "reason": "expired"]) == .counter(1))
        #expect(value("suppressed_events", ["topic": "events", "reason": "expired"]) == .counter(0))
    }

    @Test("the lag of a partition goes with the partition")
    func lag() {
        let metrics = Metrics()
        let meter = PipelineMeter(metrics: metrics)
        func lag(_ partition: String, of topic: String = "events") -> MetricsSnapshot.Value? {
            metrics.snapshot().value(
                "carillon_consumer_lag_records",
                labels: ["role": "pipeline", "topic": topic, "partition": partition])
        }
        func hung(_ topic: String) -> MetricsSnapshot.Value? {
            metrics.snapshot().value("carillon_hung_transactions", labels: ["topic": topic])
        }
        #expect(meter.reading.lag == nil)
        #expect(hung("subscriptions") == .gauge(0))
        meter.setHungSubscriptions(3)
        #expect(hung("subscriptions") == .gauge(3))
        meter.setPartitions(2, worker: 0)
        meter.setLag([0: 5, 7: 2], hungTransactions: [.orders: 1], worker: 0)
        meter.setPartitions(1, worker: 1)
        meter.setLag([3: 10], hungTransactions: [:], worker: 1)
        #expect(meter.reading.lag == 17)
        #expect(meter.reading.partitions == 3)
        #expect(lag("7") == .gauge(2))
        #expect(hung("events") == .gauge(1))
        meter.setPartitions(0, worker: 0)
        #expect(lag("7") == nil)
        #expect(lag("3") == .gauge(10))
        #expect(meter.reading.lag == 10)
        #expect(hung("events") == .gauge(0))
        #expect(metrics.snapshot().value("carillon_assigned_partitions") == .gauge(1))
        // Partition 3 of two topics.
        meter.setLag([3: 10, SourcePartition(.requests, 3): 4], hungTransactions: [.requests: 2], worker: 1)
        #expect(lag("3") == .gauge(10) && lag("3", of: "requests") == .gauge(4))
        #expect(meter.reading.lag == 14)
        #expect(hung("requests") == .gauge(2) && hung("events") == .gauge(0))
    }

    @Test(
        "what waits is as old as its partition has had something left, or as what was processed last, if that is younger"
    )
    func waiting() {
        let metrics = Metrics()
        let meter = PipelineMeter(metrics: metrics)
        let now = ContinuousClock.now
        func age() -> Duration {
            guard case .gauge(let seconds) = metrics.snapshot().value("carillon_oldest_waiting_seconds") else {
                return .zero
            }
            return .seconds(seconds)
        }
        func look(_ newest: [SourcePartition: WallTime], at wall: WallTime) {
            meter.setWaiting(newest, clock: PipelineClock(wall: wall, began: now), worker: 0)
        }
        meter.setPartitions(2, worker: 0)
        #expect(age() == .zero)
        look([0: 0, 1: 0], at: 9_000_000)
        #expect(age() < .seconds(60))
        look([0: 0, 1: 0], at: 9_600_000)
        #expect(age() >= .seconds(600) && age() < .seconds(660))
        look([0: 9_500_000], at: 9_600_000)
        #expect(age() >= .seconds(100) && age() < .seconds(160))
        look([:], at: 9_600_000)
        #expect(age() == .zero)
        look([0: 0], at: 9_600_000)
        #expect(age() < .seconds(60))
    }

    @Test("how far a watermark is ahead goes down with the clock, to 0, and goes with the partition")
    func watermarks() throws {
        let metrics = Metrics()
        let meter = PipelineMeter(metrics: metrics)
        func ahead(_ partition: String) -> Double? {
            let value = metrics.snapshot().value("carillon_watermark_ahead_seconds", labels: ["partition": partition])
            guard case .gauge(let seconds) = value else { return nil }
            return seconds
        }
        func committed(_ watermark: WallTime, newest: WallTime) -> OffsetMetadata {
            OffsetMetadata(watermark: TimerWatermark(watermark), partitions: 4, newestTimestamp: newest)
        }
        let all = [
            0: committed(7_200_000, newest: 0), 1: committed(7_200_000, newest: 6_900_000),
            2: committed(500_000, newest: 0), 3: committed(7_200_000, newest: 7_300_000),
        ]
        let metadata = Dictionary(uniqueKeysWithValues: all.map { (Int32($0), $1) })
        // It began at 0, ten minutes ago.
        let clock = PipelineClock(wall: 0, began: .now - .seconds(600))
        meter.setPartitions(4, worker: 0)
        meter.setWatermarks(metadata, clock: clock, worker: 0)
        let first = try #require(ahead("0"))
        #expect(first <= 6_600 && first > 6_500)
        #expect(ahead("1") == 300)
        #expect(ahead("2") == 0)
        #expect(ahead("3") == 0)
        #expect(try #require(ahead("0")) <= first)
        meter.setPartitions(0, worker: 0)
        #expect(ahead("0") == nil)
    }

    @Test("each event counts with the age of its batch's oldest one, and a producer's fast clock with none")
    func ages() throws {
        let metrics = Metrics()
        let meter = PipelineMeter(metrics: metrics)
        meter.committed(
            duration: .milliseconds(40), ages: [(milliseconds: 90, events: 3), (milliseconds: -5_000, events: 2)])
        guard case .histogram(let append) = metrics.snapshot().value("carillon_append_to_commit_seconds") else {
            Issue.record("no histogram")
            return
        }
        #expect(append.counts.reduce(0, +) == 5)
        #expect(append.counts[0] == 2)
        #expect(abs(append.sum - 0.27) < 1e-9)
        guard case .histogram(let duration) = metrics.snapshot().value("carillon_transaction_duration_seconds") else {
            Issue.record("no histogram")
            return
        }
        #expect(duration.counts.reduce(0, +) == 1)
        #expect(duration.sum == 0.04)
    }
}
