import KafkaClient
import Testing

@testable import Notifications
@testable import Pipeline

@Suite("Where a worker may start")
struct StartRulesTests {
    private let partition = TopicPartition(topic: "orders.events", partition: 3)

    @Test("a group without a committed offset needs --from, and the partition is named")
    func noStart() {
        let error = StartRules.noStart([partition], group: "carillon")
        #expect(error.description.contains("orders.events/3"))
        #expect(error.description.contains("--from"))
    }

    @Test("a changed partition count stops it")
    func partitionCount() {
        let start = CommittedOffset(offset: Offset(5), metadata: "v1 w=1 n=6 t=1")
        #expect(throws: PipelineError.self) {
            _ = try StartRules.check(
                [3: start], partitionCounts: [.orders: 12], topics: PipelineConfiguration.Topics(), now: 99)
        }
    }

    @Test("an offset without metadata takes its watermark from now, and says so")
    func resetByHand() throws {
        let start = CommittedOffset(offset: Offset(5), metadata: "")
        let checked = try StartRules.check(
            [3: start], partitionCounts: [.orders: 6], topics: PipelineConfiguration.Topics(), now: 99)
        #expect(checked.positions[3]?.metadata.watermark == TimerWatermark(99))
        #expect(checked.reset == [3])
    }

    @Test("an offset below the log's start names the offset, the start and the records lost")
    func belowTheStart() throws {
        let problem = StartRules.rangeProblem(partition, committed: Offset(10), first: Offset(25), end: Offset(90))
        let text = try #require(problem).description
        #expect(text.contains("orders.events/3") && text.contains("10") && text.contains("25"))
        #expect(text.contains("15 records"))
    }

    @Test("an offset above the log's end is out of range, one at the end is not")
    func aboveTheEnd() {
        #expect(StartRules.rangeProblem(partition, committed: Offset(91), first: Offset(0), end: Offset(90)) != nil)
        #expect(StartRules.rangeProblem(partition, committed: Offset(90), first: Offset(0), end: Offset(90)) == nil)
    }

    @Test("requests have no timers: no watermark is missing, and another number of partitions stops nothing")
    func requests() throws {
        let partition = SourcePartition(.requests, 3)
        var topics = PipelineConfiguration.Topics()
        topics.requests = "notifications.requests"
        for metadata in ["", "v1 w=0 n=6 t=1"] {
            let start = CommittedOffset(offset: Offset(5), metadata: metadata)
            let checked = try StartRules.check(
                [partition: start], partitionCounts: [.requests: 12], topics: topics, now: 99)
            #expect(checked.reset.isEmpty)
            #expect(checked.positions[partition]?.metadata.watermark == TimerWatermark(0))
            let lines = StartRules.changedCounts(
                checked.positions, partitionCounts: [.requests: 12], topics: topics)
            #expect(lines.count == (metadata.isEmpty ? 0 : 1))
            #expect(lines.allSatisfy { $0.contains("notifications.requests had 6 partitions and has 12 now") })
        }
    }

    @Test("a partition of requests begins at --from, else so long ago as requests.from says")
    func startOfRequests() throws {
        var configuration = PipelineConfiguration(kafka: [:], stateDirectory: "", rules: try ExtractionRules())
        #expect(StartRules.start(of: .orders, configuration, now: 10_000_000) == nil)
        #expect(StartRules.start(of: .requests, configuration, now: 10_000_000) == .time(6_400_000))
        configuration.from = .earliest
        for source in SourceKind.allCases {
            #expect(StartRules.start(of: source, configuration, now: 0) == .earliest)
        }
    }

    @Test("requests that the log no longer has are told, and stop nothing")
    func lostRequests() {
        func line(committed: Int64) -> String? {
            StartRules.lostRequests(partition, committed: Offset(committed), first: Offset(10), end: Offset(90))
        }
        #expect(line(committed: 10) == nil && line(committed: 90) == nil)
        #expect(line(committed: 4)?.contains("starts at 10: 6 requests are lost") == true)
        #expect(line(committed: 91)?.contains("ends at 90: the topic was deleted and created again") == true)
    }

    @Test("a watermark is ahead where it is more than a minute after the clock and after the newest record")
    func aheadWatermarks() {
        func ahead(_ watermark: WallTime, newest: WallTime = 0, now: WallTime = 1_000_000) -> Int64? {
            let metadata = OffsetMetadata(
                watermark: TimerWatermark(watermark), partitions: 1, newestTimestamp: newest)
            return StartRules.aheadWatermarks([3: CommittedPosition(offset: 5, metadata: metadata)], now: now)[3]
        }
        #expect(ahead(1_060_000) == nil)
        #expect(ahead(1_060_001) == 60_001)
        #expect(ahead(1_060_001, newest: 1_000_001) == nil)
        #expect(ahead(4_600_000, newest: 1_000_000) == 3_600_000)
        #expect(ahead(0) == nil)
    }

    @Test("a log is empty only where its first offset and its end are known and the same, also after retention")
    func emptyLog() {
        let log = LogBounds(
            first: [.init(topic: "t", partition: 0): Offset(0), .init(topic: "t", partition: 1): Offset(7)],
            end: [
                .init(topic: "t", partition: 0): Offset(0), .init(topic: "t", partition: 1): Offset(8),
                .init(topic: "t", partition: 2): Offset(0),
            ])
        #expect((0..<4).map { log.isEmpty(.init(topic: "t", partition: $0)) } == [true, false, false, false])
    }
}
