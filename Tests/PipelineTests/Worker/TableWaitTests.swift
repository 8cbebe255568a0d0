import Foundation
import Telemetry
import TestSupport
import Testing

@testable import Hosting
@testable import KafkaClient
@testable import Notifications
@testable import Pipeline
@testable import Streaming

@Suite("Requests that wait for the table (docs/rules.md §8.11)", .timeLimit(.minutes(30)))
struct TableWaitTests {
    private let cluster: MockCluster
    private let folder = TemporaryFolder()
    private var configuration: PipelineConfiguration
    private let time = TransactionTime(clock: 1_000_000, began: .now)

    init() throws {
        cluster = try MockCluster()
        configuration = try .onMock(cluster, folder)
        configuration.topics.requests = "requests"
        try cluster.createTopic("requests", partitions: 1)
    }

    /// Nobody has subscribed.
    private final class Nobody: TokenResolver {
        func resolve(_ audiences: borrowing AudienceList, into devices: inout DeviceList) throws {}
    }

    /// A worker that has a partition of orders and one of requests, both committed at 3.
    private func worker() throws -> StreamWorker<PipelineTenant> {
        let context = WorkerContext(
            configuration: configuration, audienceRule: OrderAudiences(), meter: PipelineMeter(metrics: Metrics()))
        let slot = Slot(instance: "test", number: 0)
        var worker = try StreamWorker(
            PipelineTenant.contract(of: slot, context), context.host, context.meter.metrics, logger: .silent
        ) { try PipelineTenant(slot, context, $0, recipients: .resolver(Nobody()), logger: .silent) }
        let start = CommittedPosition(
            offset: 3, metadata: OffsetMetadata(watermark: 0, partitions: 1, newestTimestamp: 0))
        let partitions = [SourcePartition(.orders, 0), SourcePartition(.requests, 0)]
        worker.tenant.positions.assign(
            Dictionary(uniqueKeysWithValues: partitions.map { ($0, start) }),
            partitionCounts: [.orders: 1, .requests: 1])
        for partition in partitions {
            worker.tenant.core.assign(partition, watermark: TimerWatermark(0), newest: 0)
        }
        worker.tenant.beginRefold()
        worker.tenant.isTableReady = true
        worker.tenant.hear(0, isClockRight: true)
        return worker
    }

    private func end(_ worker: consuming StreamWorker<PipelineTenant>) {
        worker.transaction.abandon()
        worker.close()
    }

    private func request(_ offset: Int64, _ headers: [RecordHeader] = Self.after) -> RecordBatch {
        var batch = RecordBatch()
        batch.append(
            copying: ProducerRecord(
                key: nil, value: Array(#"{"audience":"user/1","message":{"title":"T"}}"#.utf8), headers: headers),
            at: offset, of: TopicPartition(topic: "requests", partition: 0))
        return batch
    }

    private static let after = [RecordHeader("after", Array("4711".utf8))]

    private var order: RecordBatch {
        var batch = RecordBatch()
        batch.append(
            copying: ProducerRecord(key: nil, value: Array(OrderEvent.created.utf8)), at: 3,
            of: TopicPartition(topic: configuration.topics.events, partition: 0))
        return batch
    }

    /// Whether a request is taken now.
    private func takes(_ worker: inout StreamWorker<PipelineTenant>, _ batch: borrowing RecordBatch) throws -> Bool {
        try worker.tenant.take(batch, from: 0, of: 1, time) == 1
    }

    @Test("they are taken when the table has what was written before them, in a transaction that sees it; orders go on")
    func waits() throws {
        var worker = try worker()
        let batch = request(3)
        let isTaken = try takes(&worker, batch)
        let wanted = [worker.tenant.wants(0), worker.tenant.wants(1)]
        let isSoon = worker.tenant.patience <= .milliseconds(20)
        #expect(!isTaken && wanted == [true, false] && isSoon)
        let isReady = worker.tenant.context.readiness.reasons.contains { "\($0)".contains("table") }
        #expect(!isReady)
        let orders = try worker.tenant.take(order, from: 0, of: 0, time)
        let mayGrow = !worker.tenant.mustCommit(isOpen: true)
        #expect(orders == 1 && mayGrow)
        worker.tenant.context.gate.writes.pass(1)
        // The open transaction has the table as it was before.
        let isWanted = worker.tenant.wants(1)
        let isTakenToo = try takes(&worker, batch)
        let mustCommit = worker.tenant.mustCommit(isOpen: true)
        #expect(isWanted && !isTakenToo && mustCommit)
        worker.tenant.committed()
        let isTakenAtLast = try takes(&worker, batch)
        let mayGrowAgain = !worker.tenant.mustCommit(isOpen: true)
        #expect(isTakenAtLast && mayGrowAgain)
        // The next one waits for more.
        let isNext = try takes(&worker, request(4))
        #expect(!isNext)
        end(worker)
    }

    @Test("a transaction that begins for orders sees it, too, and takes them")
    func sharesTransaction() throws {
        var worker = try worker()
        let batch = request(3)
        let isTaken = try takes(&worker, batch)
        worker.tenant.context.gate.writes.pass(1)
        _ = try worker.tenant.take(order, from: 0, of: 0, time)
        let mayGrow = !worker.tenant.mustCommit(isOpen: true)
        let isTakenNow = try takes(&worker, batch)
        let events = worker.tenant.transactions.open?.events
        #expect(!isTaken && mayGrow && isTakenNow && events == 2)
        end(worker)
    }

    @Test("they wait for subscriptions.max-lag at most, and others not at all until the table has what they waited for")
    mutating func bound() throws {
        configuration.subscriptionsMaxLag = .milliseconds(300)
        var worker = try worker()
        let began = ContinuousClock.now
        let first = request(3)
        while try !takes(&worker, first) {
            guard ContinuousClock.now - began < .seconds(30) else {
                Issue.record("it waits for ever")
                break
            }
            sched_yield()
        }
        let isLong = ContinuousClock.now - began >= .milliseconds(300)
        let isNext = try takes(&worker, request(4))
        #expect(isLong && isNext)
        worker.tenant.committed()
        worker.tenant.context.gate.writes.pass(worker.tenant.context.gate.writes.newest)
        let isLast = try takes(&worker, request(5))
        #expect(!isLast)
        end(worker)
    }

    @Test("what was read and comes again waits again, for as long")
    func comesAgain() throws {
        var worker = try worker()
        _ = try takes(&worker, request(3))
        worker.tenant.forgetRecords()
        let isWanted = worker.tenant.wants(1)
        worker.tenant.context.gate.writes.pass(1)
        let isTaken = try takes(&worker, request(3))
        let newest = worker.tenant.context.gate.writes.newest
        #expect(isWanted && !isTaken && newest == 2)
        end(worker)
    }

    @Test(
        "nobody waits by a header that says no offset, nor what was sent already; where no table is kept, nobody does")
    func others() throws {
        var worker = try worker()
        for (number, header) in [
            nil, ("after", ""), ("after", nil), ("after", "x"), ("after", "-1"), ("after", "1234567890123456789"),
            ("afterwards", "1"), ("After", "1"),
        ].enumerated() as EnumeratedSequence<[(String, String?)?]> {
            let headers = header.map { [RecordHeader($0, $1.map { Array($0.utf8) })] } ?? []
            let isTaken = try takes(&worker, request(3 + Int64(number), headers))
            #expect(isTaken, "\(String(describing: header))")
        }
        let isTaken = try takes(&worker, request(2))
        let isAwaited = worker.tenant.context.gate.writes.isAwaited
        #expect(isTaken && !isAwaited)
        worker.tenant.context.gate.passAll()
        let isTakenAtOnce = try takes(&worker, request(20))
        #expect(isTakenAtOnce)
        end(worker)
    }
}
