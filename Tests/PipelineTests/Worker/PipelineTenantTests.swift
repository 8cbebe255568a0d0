import Foundation
import Telemetry
import TestSupport
import Testing

@testable import Hosting
@testable import KafkaClient
@testable import Notifications
@testable import Pipeline
@testable import Streaming

@Suite("What a worker does with records, and where its partitions begin", .timeLimit(.minutes(30)))
struct PipelineTenantTests {
    private let cluster: MockCluster
    private let folder = TemporaryFolder()
    private var configuration: PipelineConfiguration

    init() throws {
        cluster = try MockCluster()
        configuration = try .onMock(cluster, folder)
    }

    /// Nobody has subscribed.
    private final class Nobody: TokenResolver {
        func resolve(_ audiences: borrowing AudienceList, into devices: inout DeviceList) throws {}
    }

    private func context() -> WorkerContext {
        let context = WorkerContext(
            configuration: configuration, audienceRule: OrderAudiences(), meter: PipelineMeter(metrics: Metrics()))
        context.gate.passAll()
        return context
    }

    private func worker(_ context: WorkerContext) throws -> StreamWorker<PipelineTenant> {
        let slot = Slot(instance: "test", number: 0)
        return try StreamWorker(
            PipelineTenant.contract(of: slot, context), context.host, context.meter.metrics, logger: .silent
        ) { try PipelineTenant(slot, context, $0, recipients: .resolver(Nobody()), logger: .silent) }
    }

    private func end(_ worker: consuming StreamWorker<PipelineTenant>) {
        worker.transaction.abandon()
        worker.close()
    }

    private func topicPartition(_ number: Int32) -> TopicPartition {
        TopicPartition(topic: configuration.topics.events, partition: number)
    }

    /// Each partition is committed at 3; the state of the first one is folded to 1.
    private func assign(_ tenant: inout PipelineTenant, folded: Int64 = 3) {
        let start = CommittedPosition(
            offset: 3, metadata: OffsetMetadata(watermark: 0, partitions: 2, newestTimestamp: 0))
        tenant.positions.assign([0: start, 1: start], folds: [0: folded, 1: 3], partitionCounts: [.orders: 2])
        tenant.folds.orders.offsets = [0: folded, 1: 3]
        for partition in [Int32(0), 1] { tenant.core.orders.assign(partition, watermark: TimerWatermark(0), newest: 0) }
        tenant.beginRefold()
    }

    private func records(_ partition: Int32, _ offsets: Range<Int64>, _ value: String = OrderEvent.created)
        -> RecordBatch
    {
        var batch = RecordBatch()
        for offset in offsets {
            batch.append(
                copying: ProducerRecord(key: nil, value: Array(value.utf8)), at: offset, of: topicPartition(partition))
        }
        return batch
    }

    private let time = TransactionTime(clock: 1_000_000, began: .now)
    private let refusal = Remedy.Refusal(
        tag: nil,
        error: KafkaError(kind: .messageTooLarge, recovery: .abortTransaction, name: "TOO_LARGE", message: ""))

    // MARK: Records

    @Test("a batch is taken as far as the transaction has room, and the rest after its commit: no record twice")
    mutating func room() throws {
        configuration.commitMaxRecords = 1
        var worker = try worker(context())
        assign(&worker.tenant)
        // Each is a dead letter.
        let batch = records(0, 1..<6, "{")
        var next = try worker.tenant.take(batch, from: 0, of: 0, time)
        // 1 and 2 were processed before.
        let mustCommit = worker.tenant.mustCommit(isOpen: true)
        #expect(next == 3 && mustCommit)
        let refused = try worker.tenant.take(batch, from: next, of: 0, time)
        #expect(refused == next)
        for expected in [4, 5] {
            worker.tenant.committed()
            next = try worker.tenant.take(batch, from: next, of: 0, time)
            #expect(next == expected)
        }
        let position = worker.tenant.position(topicPartition(0))
        #expect(position == 6)
        end(worker)
    }

    @Test("what was not committed comes again after an abort, from where the partition was committed last")
    mutating func abort() throws {
        configuration.commitMaxRecords = 1
        var worker = try worker(context())
        assign(&worker.tenant)
        let batch = records(0, 3..<7, "{")
        var next = try worker.tenant.take(batch, from: 0, of: 0, time)
        worker.tenant.committed()
        next = try worker.tenant.take(batch, from: next, of: 0, time)
        worker.tenant.aborted()
        worker.tenant.forgetRecords()
        let position = worker.tenant.position(topicPartition(0))
        #expect(next == 2 && position == 4)
        // What is left of the batch is not taken up.
        let again = try worker.tenant.take(records(0, 4..<6, "{"), from: 0, of: 0, time)
        #expect(again == 1)
        end(worker)
    }

    @Test("records below the committed offset are only folded, while those of other partitions are processed")
    func fold() throws {
        var worker = try worker(context())
        assign(&worker.tenant, folded: 1)
        let before = (worker.tenant.position(topicPartition(0)), worker.tenant.unfinished(topicPartition(0)))
        #expect(before == (1, 3))
        _ = try worker.tenant.take(records(1, 3..<4), from: 0, of: 0, time)
        _ = try worker.tenant.take(records(0, 1..<2), from: 0, of: 0, time)
        let events = worker.tenant.transactions.open?.events
        let isFolding = worker.tenant.refolding != nil
        #expect(events == 1 && isFolding)
        // The rest of the fold are a transaction's marks.
        worker.tenant.reached(3, of: topicPartition(0))
        let position = worker.tenant.position(topicPartition(0))
        let isDone = worker.tenant.refolding == nil
        #expect(position == 3 && isDone)
        end(worker)
    }

    @Test("requests below the committed offset are only folded, and one of them that is repeated is not sent")
    mutating func foldedRequests() throws {
        configuration.topics.requests = "requests"
        try cluster.createTopic("requests", partitions: 1)
        var worker = try worker(context())
        let partition = SourcePartition(.requests, 0)
        let start = CommittedPosition(
            offset: 2, metadata: OffsetMetadata(watermark: 0, partitions: 1, newestTimestamp: 0))
        worker.tenant.positions.assign([partition: start], folds: [partition: 0], partitionCounts: [.requests: 1])
        worker.tenant.core.assign(partition, watermark: TimerWatermark(0), newest: 0)
        worker.tenant.core.trackChanges(of: partition)
        worker.tenant.beginRefold()
        worker.tenant.hear(0, isClockRight: true)
        let isFolding = worker.tenant.refolding?.subject == "requests"
        var batch = RecordBatch()
        for (offset, id) in ["a", "b", "b", "c"].enumerated() {
            let value = #"{"request_id":"\#(id)","audience":"user/1","message":{"title":"T"}}"#
            batch.append(
                copying: ProducerRecord(key: nil, value: Array(value.utf8)), at: Int64(offset),
                of: TopicPartition(topic: "requests", partition: 0))
        }
        let next = try worker.tenant.take(batch, from: 0, of: 1, time)
        let counts = worker.tenant.core.counts
        let isDone = worker.tenant.refolding == nil
        #expect(isFolding && isDone && next == 4)
        #expect(counts.events == 2 && counts.suppressed(.duplicate) == 1 && counts.suppressed(.noSubscriber) == 1)
        worker.tenant.committed()
        worker.tenant.saveStates(isLast: true)
        let mark = worker.tenant.folds.requests.checkpoint?.marks[0]?.offset
        let count = worker.tenant.core.requests.states.count
        #expect(mark == 4 && count == 3)
        end(worker)
    }

    @Test("of requests a day is folded, also where nobody knows the newest: never the whole log, as of orders")
    func foldStart() {
        let (hour, now) = (Int64(3_600_000), WallTime(milliseconds: 1_751_871_600_000))
        for (newest, requests, orders) in [
            (now - hour, now - 25 * hour, now - (28 * 24 + 1) * hour),
            (.epoch, now - 25 * hour, .epoch - 28 * 24 * hour),
        ] {
            let metadata = OffsetMetadata(watermark: 0, partitions: 1, newestTimestamp: newest)
            #expect(configuration.foldStart(of: .requests, upTo: metadata, now: now) == requests)
            #expect(configuration.foldStart(of: .orders, upTo: metadata, now: now) == orders)
        }
    }

    @Test("what was folded beside a transaction that is aborted is folded again")
    func abortedFold() throws {
        var worker = try worker(context())
        assign(&worker.tenant, folded: 1)
        _ = try worker.tenant.take(records(1, 3..<4), from: 0, of: 0, time)
        _ = try worker.tenant.take(records(0, 1..<3), from: 0, of: 0, time)
        let isDone = worker.tenant.refolding == nil
        #expect(isDone)
        worker.tenant.aborted()
        worker.tenant.forgetRecords()
        _ = worker.tenant.refresh(isIdle: true)
        let position = worker.tenant.position(topicPartition(0))
        let isFolding = worker.tenant.refolding != nil
        #expect(position == 1 && isFolding)
        end(worker)
    }

    @Test("what is folded while nothing is open stays so, also where the partitions are taken away")
    func keptFold() throws {
        var worker = try worker(context())
        assign(&worker.tenant, folded: 1)
        _ = try worker.tenant.take(records(0, 1..<2), from: 0, of: 0, time)
        worker.tenant.release(.toOthers)
        let folds = worker.tenant.folds.orders.offsets
        let position = worker.tenant.position(topicPartition(0))
        #expect(folds == [0: 2, 1: 3] && position == nil)
        end(worker)
    }

    @Test("the state of orders is saved also between two transactions of a batch")
    func savesWithinBatch() throws {
        var worker = try worker(context())
        assign(&worker.tenant)
        for partition in [Int32(0), 1] { worker.tenant.core.orders.states.trackChanges(of: partition) }
        // One event per transaction.
        for _ in 0..<2 {
            _ = try worker.tenant.take(records(0, 3..<6), from: 0, of: 0, time)
            try worker.tenant.refused(refusal)
            worker.tenant.aborted()
            worker.tenant.forgetRecords()
        }
        _ = try worker.tenant.take(records(0, 3..<6), from: 0, of: 0, time)
        worker.tenant.committed()
        let isLeft = worker.tenant.intake.next < worker.tenant.intake.extracted
        worker.tenant.saveStates(isLast: true)
        let mark = worker.tenant.folds.orders.checkpoint?.marks[0]?.offset
        #expect(isLeft && mark == 4)
        end(worker)
    }

    @Test("events that are looked for after a refusal go one by one, and the refused one becomes a dead letter")
    func isolation() throws {
        var worker = try worker(context())
        assign(&worker.tenant)
        for _ in 0..<2 {
            _ = try worker.tenant.take(records(0, 3..<6), from: 0, of: 0, time)
            try worker.tenant.refused(refusal)
            worker.tenant.aborted()
            worker.tenant.forgetRecords()
        }
        let next = try worker.tenant.take(records(0, 3..<6), from: 0, of: 0, time)
        let alone = worker.tenant.transactions.open?.alone
        #expect(next == 1 && alone == EventCoordinates(0, offset: 3))
        try worker.tenant.refused(refusal)
        worker.tenant.aborted()
        worker.tenant.forgetRecords()
        _ = try worker.tenant.take(records(0, 3..<6), from: 0, of: 0, time)
        let letters = worker.tenant.core.counts.deadLetters
        #expect(letters == 1)
        end(worker)
    }

    // MARK: The table and the clock

    @Test("nothing is taken before the table has reached the ends that it had when the partitions were assigned")
    func barrier() throws {
        let context = context()
        var worker = try worker(context)
        context.gate.pass(0)
        // They are located meanwhile.
        let isLocated = worker.tenant.refresh(isIdle: true)
        assign(&worker.tenant)
        let isFresh = worker.tenant.refresh(isIdle: true)
        #expect(isLocated && !isFresh)
        // What is open does not grow old meanwhile.
        _ = try worker.tenant.take(records(0, 3..<4), from: 0, of: 0, time)
        let mustCommit = worker.tenant.mustCommit(isOpen: true)
        context.gate.pass(1)
        _ = worker.tenant.refresh(isIdle: false)
        let mayGrow = !worker.tenant.mustCommit(isOpen: true)
        #expect(mustCommit && mayGrow)
        worker.tenant.aborted()
        context.gate.pass(1)
        worker.tenant.release(.toItself)
        assign(&worker.tenant)
        let staysFresh = worker.tenant.refresh(isIdle: true)
        worker.tenant.release(.toOthers)
        assign(&worker.tenant)
        let isFreshAgain = worker.tenant.refresh(isIdle: true)
        #expect(staysFresh && !isFreshAgain)
        end(worker)
    }

    @Test("requests wait while the clock may be wrong, orders do not; without requests nobody asks for the time")
    mutating func clock() throws {
        #expect(PipelineTenant.contract(of: Slot(instance: "a", number: 0), context()).clock == .gatesNothing)
        configuration.topics.requests = "requests"
        try cluster.createTopic("requests", partitions: 1)
        #expect(PipelineTenant.contract(of: Slot(instance: "a", number: 0), context()).clock == .gatesSome)
        var worker = try worker(context())
        for isRight in [false, true] {
            worker.tenant.hear(0, isClockRight: isRight)
            let wanted = [worker.tenant.wants(0), worker.tenant.wants(1)]
            #expect(wanted == [true, isRight])
        }
        end(worker)
    }

    @Test("requests that were begun are finished also while the clock may be wrong: orders wait for them")
    mutating func begunRequests() throws {
        configuration.topics.requests = "requests"
        configuration.commitMaxRecords = 1
        try cluster.createTopic("requests", partitions: 1)
        var worker = try worker(context())
        let start = CommittedPosition(
            offset: 0, metadata: OffsetMetadata(watermark: 0, partitions: 1, newestTimestamp: 0))
        worker.tenant.positions.assign([SourcePartition(.requests, 0): start], partitionCounts: [.requests: 1])
        worker.tenant.hear(0, isClockRight: true)
        var batch = RecordBatch()
        let requests = TopicPartition(topic: "requests", partition: 0)
        for offset in Int64(0)..<2 {
            batch.append(copying: ProducerRecord(key: nil, value: Array("{".utf8)), at: offset, of: requests)
        }
        let next = try worker.tenant.take(batch, from: 0, of: 1, time)
        worker.tenant.committed()
        worker.tenant.hear(0, isClockRight: false)
        let isWanted = worker.tenant.wants(1)
        #expect(next == 1 && isWanted)
        let last = try worker.tenant.take(batch, from: next, of: 1, time)
        worker.tenant.committed()
        let isWantedAgain = worker.tenant.wants(1)
        #expect(last == 2 && !isWantedAgain)
        end(worker)
    }

    @Test("after a slice of timers no other comes before each input was found empty, or its events were committed")
    mutating func slices() throws {
        configuration.topics.requests = "requests"
        try cluster.createTopic("requests", partitions: 1)
        var worker = try worker(context())
        assign(&worker.tenant)
        worker.tenant.hear(0, isClockRight: true)
        worker.tenant.ticks.pending[0] = .init(time: 1, end: 3, questions: 1)
        worker.tenant.ticks.yieldsTo = [0, 1]
        var isReady = [worker.tenant.isTickReady]
        worker.tenant.asked(0, appended: .epoch)
        worker.tenant.asked(1, appended: nil)
        isReady.append(worker.tenant.isTickReady)
        worker.tenant.asked(0, appended: nil)
        isReady.append(worker.tenant.isTickReady)
        // Requests that wait for the clock do not hold them up.
        worker.tenant.ticks.yieldsTo = [1]
        worker.tenant.hear(0, isClockRight: false)
        isReady.append(worker.tenant.isTickReady)
        worker.tenant.hear(0, isClockRight: true)
        _ = try worker.tenant.take(records(0, 3..<4), from: 0, of: 0, time)
        worker.tenant.committed()
        isReady.append(worker.tenant.isTickReady)
        #expect(isReady == [false, false, true, true, true])
        end(worker)
    }

    @Test("timers wait while the clock is ahead of the broker's, which is asked once per tick until they agree")
    mutating func clockAhead() throws {
        var worker = try worker(context())
        let now = ContinuousClock.now
        var asks = [worker.tenant.asksForTime(now)]
        worker.tenant.holdTimers(try #require(ClockAhead(clock: 100_000, appended: 0)))
        for _ in 0..<2 { asks.append(worker.tenant.asksForTime(now)) }
        worker.tenant.heard(0, at: 60_001)
        asks.append(worker.tenant.asksForTime(now + .seconds(60)))
        worker.tenant.heard(0, at: 60_000)
        asks.append(worker.tenant.asksForTime(now + .seconds(120)))
        #expect(asks == [false, true, false, true, false])
        end(worker)
    }

    @Test("a consumer that is replaced in a partition's turn fetches batch by batch, too, and the next one does not")
    func careful() throws {
        let context = context()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        try "2 - \(configuration.topics.events) 0 3\n".write(
            toFile: PartitionHolds.path(in: folder.path), atomically: true, encoding: .utf8)
        context.holds.open(in: folder.path)
        var worker = try worker(context)
        _ = context.holds.enter(worker.tenant.reader, [topicPartition(0)])
        let isTaken = context.holds.take(
            worker.tenant.reader, [topicPartition(0): 3], ends: [topicPartition(0): 9], .silent)
        worker.tenant.release(.toOthers)
        let inTurn = worker.tenant.memberSettings([:])
        worker.tenant.release(.toOthers)
        let afterwards = worker.tenant.memberSettings([:])
        #expect(isTaken && inTurn == ClientSettings.oneBatchAtATime && afterwards == [:])
        end(worker)
    }

    @Test("an error of fan-out and a clock that is ahead are no reason to locate the partitions again")
    func considers() throws {
        let worker = try worker(context())
        let ahead = try worker.tenant.consider(try #require(ClockAhead(clock: 100_000, appended: 0)))
        let isLocated = try worker.tenant.consider(CancellationError())
        #expect(!ahead && !isLocated)
        end(worker)
    }

    // MARK: Where partitions begin

    /// Joins the group and locates its partition.
    private func locate(_ worker: inout StreamWorker<PipelineTenant>) throws {
        let deadline = ContinuousClock.now + .seconds(30)
        while worker.partitions.isEmpty, .now < deadline {
            try worker.serveGroup(timeout: .milliseconds(50))
            if let search = worker.assignment.search { try worker.locate(search) }
        }
    }

    @Test("a partition without a committed offset begins where --from says, which is committed before it is read")
    mutating func from() throws {
        try cluster.write(["{", "{"], to: configuration.topics.events)
        for (from, offset) in [(PipelineConfiguration.StartPosition.earliest, Int64(0)), (.latest, 2)] {
            configuration.groupID = "from-\(from)"
            configuration.from = from
            var worker = try worker(context())
            try locate(&worker)
            let committed = try worker.consumer.committed([topicPartition(0)], timeout: .seconds(10))
            #expect(committed[topicPartition(0)]?.offset == Offset(offset))
            #expect(OffsetMetadata(parsing: committed[topicPartition(0)]?.metadata ?? "")?.partitions == 1)
            let (known, position) = (worker.committed, worker.tenant.position(topicPartition(0)))
            #expect(known == committed && position == offset)
            end(worker)
        }
    }

    @Test("without --from nothing begins where the log has something, and an empty log begins at its start")
    mutating func withoutFrom() throws {
        configuration.from = nil
        var empty = try worker(context())
        try locate(&empty)
        let position = empty.tenant.position(topicPartition(0))
        #expect(position == 0)
        end(empty)
        try cluster.write(["{"], to: configuration.topics.events)
        configuration.groupID = "another"
        var worker = try worker(context())
        let error = #expect(throws: PipelineError.self) { try locate(&worker) }
        guard case .decisionNeeded = error else {
            Issue.record("\(error.map { "\($0)" } ?? "nothing")")
            return
        }
        end(worker)
    }

    @Test("an offset of the orders outside the log is for a person to decide, one of requests begins again")
    mutating func outsideTheLog() throws {
        configuration.topics.requests = "requests"
        try cluster.createTopic("requests", partitions: 1)
        let requests = TopicPartition(topic: "requests", partition: 0)
        for (lost, isOver) in [(requests, false), (topicPartition(0), true)] {
            configuration.groupID = "lost-\(lost.topic)"
            let reader = try Consumer(assigning: configuration.kafka, group: configuration.groupID)
            var offsets: [TopicPartition: CommittedOffset] = [:]
            for each in [requests, topicPartition(0)] {
                offsets[each] = CommittedOffset(
                    offset: Offset(each == lost ? 7 : 0),
                    metadata: OffsetMetadata(watermark: 0, partitions: 1, newestTimestamp: 0).text)
            }
            try reader.commit(offsets, timeout: .seconds(10))
            var worker = try worker(context())
            if isOver {
                #expect(throws: PipelineError.self) { try locate(&worker) }
            } else {
                try locate(&worker)
                let position = worker.tenant.position(requests)
                #expect(position == 0)
            }
            end(worker)
        }
    }
}
