import CarillonTesting
import StageSupport
import StateStore
import TestSupport

@testable import Notifications
@testable import Pipeline

/// Drives the core over the requests of one partition as a worker does: transactions, aborts, crashes with a fold from the
/// log, and starts from a checkpoint.
struct RepeatDriver: ~Copyable {
    static let morning: WallTime = 1_751_871_600_000
    static let hour: Int64 = 3_600_000
    static let day: Int64 = 86_400_000

    private let configuration: PipelineConfiguration
    private let table: SubscriptionTable
    private let limit: Int
    private let memory = Memory()
    let store: MemoryStore
    private(set) var core: Flow
    private var checkpoint: FoldCheckpoint
    private(set) var log: [SampleRecord] = []
    private(set) var committed = 0
    private var newest = WallTime.epoch
    /// Of the latest transaction that had one.
    private var clock: WallTime?
    private(set) var output = RecordingSink()
    private(set) var counts = Counts()

    init(limit: Int = RequestStates.limit) throws {
        var configuration = try PipelineTestDriver.configuration()
        configuration.topics.requests = "notifications.requests"
        configuration.maxDevicesPerEvent = 100
        let (table, store) = (SubscriptionTable.inMemory(), MemoryStore())
        try table.subscribe(Subscription(audience: "user/1", token: "t", platform: .fcm, app: "com.example.shop"))
        let core = try Flow(configuration, recipients: .table(table))
        let checkpoint = try FoldCheckpoint(store, stamp: "1", cluster: nil)
        self.configuration = configuration
        self.table = table
        self.limit = limit
        self.store = store
        self.core = core
        self.checkpoint = checkpoint
        begin()
        self.core.trackChanges(of: Self.partition)
    }

    private static let partition = SourcePartition(.requests, 0)

    private mutating func begin(newest: WallTime = .epoch) {
        core.requests.states = RequestStates(limit: limit)
        core.assign(Self.partition, watermark: TimerWatermark(.epoch), newest: newest)
    }

    /// The ids that are known, the oldest first.
    var known: [RequestEntry] { core.requests.states[0]?.known ?? [] }

    /// What became of each record: `sent`, a reason, or the code of a dead letter.
    var told: [String] {
        var told = log.prefix(committed).map { _ in "sent" }
        for each in output.suppressed { told[Int(each.offset)] = each.reason.label }
        for each in output.deadLetters {
            if let offset = each.header("__connect.errors.offset").flatMap({ Int($0) }) {
                told[offset] = each.header("x-error-code") ?? ""
            }
        }
        return told
    }

    // MARK: The log

    /// - Parameters:
    ///   - id: nil: none of its own.
    ///   - after: the record's time, in milliseconds after the morning.
    mutating func ask(
        _ id: String?, after: Int64 = 0, title: String = "T", key: String? = "user/1", audience: String = "user/1",
        members: String = "", headers: [(name: String, value: String)] = []
    ) {
        let id = id.map { #""request_id":"\#($0)","# } ?? ""
        let value =
            #"{\#(id)"audience":"\#(audience)",\#(members)"app":{"title":"\#(title)","body":"B","data":{"type":"NewBill"}}}"#
        append(SampleRecord(key: key, value: value, headers: headers, at: Self.morning + after))
    }

    mutating func append(_ record: SampleRecord) { log.append(record) }

    private func batch(_ offsets: Range<Int>) -> EventBatch {
        var batch = EventBatch(.requests, topic: "notifications.requests")
        for offset in offsets { memory.append(log[offset], partition: 0, offset: Int64(offset), to: &batch) }
        return batch
    }

    // MARK: Transactions

    /// The next records as one transaction, all of them by default.
    ///
    /// - Parameters:
    ///   - clock: of the transaction, which bounds the times of the records; nil: nothing does.
    ///   - aborts: everything is done and then taken back.
    mutating func process(_ count: Int? = nil, clock: WallTime? = nil, aborts: Bool = false) throws {
        let end = min(log.count, committed + (count ?? log.count))
        var batch = batch(committed..<end)
        var sink = RecordingSink()
        var next = 0
        try core.beginTransaction(clock: clock ?? .epoch, boundsTimes: clock != nil)
        while next < batch.records.count {
            let extracted = core.extract(&batch, from: next)
            next = try core.emit(batch, next..<extracted, limit: .max, into: &sink)
        }
        core.endTransaction()
        let notes = core.takeNotes()
        if aborts { return core.rollBack() }
        core.commit()
        self.clock = clock ?? self.clock
        for record in log[committed..<end] {
            newest = max(newest, min(record.timestamp ?? .epoch, clock.map(RecordTime.latest) ?? .distantFuture))
        }
        committed = end
        output.append(sink)
        counts.add(core.counts)
        counts.count(notes)
    }

    /// The process dies, and another one without a checkpoint folds the last 24 h.
    mutating func crash() throws {
        let oldest = configuration.foldStart(of: .requests, newest: newest)
        core = try Flow(configuration, recipients: .table(table))
        begin()
        let first = log.firstIndex { $0.timestamp ?? .epoch >= oldest } ?? 0
        fold(from: min(first, committed))
    }

    private mutating func fold(from offset: Int) {
        if let clock { core.beginFold(of: Self.partition, latest: RecordTime.latest(at: clock)) }
        var batch = batch(offset..<committed)
        core.refold(&batch)
        core.resume(Self.partition, watermark: TimerWatermark(.epoch), newest: newest)
    }

    /// Writes the checkpoint, slice by slice.
    mutating func save() throws {
        let mark = FoldCheckpoint.Mark(
            offset: Int64(committed), watermark: TimerWatermark(.epoch), newest: core.newest(in: Self.partition),
            recent: core.recentRecords(of: Self.partition, below: Int64(committed)))
        while try !checkpoint.save([0: mark], of: &core.requests.states, limit: 3) {}
    }

    /// The process dies, and another one loads the checkpoint, and folds what came after it.
    ///
    /// - Returns: whether the checkpoint could be read.
    mutating func restart() throws -> Bool {
        checkpoint = try FoldCheckpoint(store, stamp: "1", cluster: nil)
        guard let mark = checkpoint.marks[0] else { return false }
        core = try Flow(configuration, recipients: .table(table))
        begin(newest: mark.newest)
        guard try checkpoint.load(0, into: &core.requests.states) else { return false }
        core.trackChanges(of: Self.partition, recent: mark.recent)
        fold(from: Int(mark.offset))
        return true
    }
}
