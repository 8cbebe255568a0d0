import CarillonTesting
import StageSupport
import TestSupport
import Testing

@testable import Notifications
@testable import Pipeline

/// Drives the core over the log of one partition as a worker does: transactions, ticks, aborts, crashes and refolds, with
/// no broker and no clock.
struct ScheduleDriver: ~Copyable {
    /// 2025-07-07T07:00:00Z, a Monday.
    static let morning: WallTime = 1_751_871_600_000
    static let minute: Int64 = 60_000
    static let hour: Int64 = 3_600_000
    static let day: Int64 = 86_400_000

    /// What a group's offset carries.
    struct Position: Equatable {
        var offset = 0
        var watermark = TimerWatermark(ScheduleDriver.morning - 365 * ScheduleDriver.day)
        var newest: WallTime = 0
    }

    let configuration: PipelineConfiguration
    let table: SubscriptionTable
    var core: Flow
    var log: [SampleRecord] = []
    var committed = Position()
    /// What was committed: records, drops and reasons.
    var output = RecordingSink()
    var counts = Counts()
    /// The clock that bounds the records' times; nil: nothing does.
    var recordClock: WallTime?
    /// The blocks of its checkpoint, by order id.
    private var saved: [OrderKey: [UInt8]] = [:]
    private let memory = Memory()

    init(
        orders: OrderRules = OrderRules(), timeZone: String = "UTC", zones: [String: String] = [:],
        places: [String] = ["p1", "p2", "p3"], infersStatusChanges: Bool = false
    ) throws {
        let rules = try ExtractionRules(
            timeZone: timeZone, placeTimeZones: zones, infersStatusChanges: infersStatusChanges)
        let configuration = try Self.configuration(orders, rules)
        let table = SubscriptionTable.inMemory()
        for place in places { try table.subscribe(.to(place, "token-\(place)")) }
        let core = try Flow(configuration, recipients: .table(table))
        self.configuration = configuration
        self.table = table
        self.core = core
        self.core.orders.assign(0, watermark: committed.watermark, newest: 0)
        self.core.orders.states.trackChanges(of: 0)
    }

    /// For orders that live longer than subscriptions may be silent.
    static func configuration(_ orders: OrderRules, _ rules: ExtractionRules? = nil) throws -> PipelineConfiguration {
        var configuration = try PipelineTestDriver.configuration(rules)
        configuration.orders = orders
        configuration.maxDevicesPerEvent = 100
        configuration.subscriptionsMaxAge = .days(3_650)
        return configuration
    }

    var orders: OrderRules { configuration.orders }

    mutating func append(_ events: SampleRecord...) { log += events }

    /// The orders and types of what was sent, for tests to compare.
    var pushes: [String] {
        output.records.map { "\($0.field("order_id")) \($0.field("event_type").dropFirst(6))" }
    }

    /// The next records as one transaction, all of them by default, and an optional tick at its end.
    ///
    /// - Parameter aborts: everything is done and then taken back.
    mutating func process(
        _ count: Int? = nil, tick: WallTime? = nil, clock: WallTime? = nil, slice: TickSlice = .upTo(nil),
        aborts: Bool = false
    ) throws {
        let end = min(log.count, committed.offset + (count ?? log.count))
        var batch = makeBatch(committed.offset..<end)
        var sink = RecordingSink()
        var next = 0
        var position = committed
        try core.beginTransaction(clock: recordClock ?? 0, boundsTimes: recordClock != nil)
        while next < batch.records.count {
            let extracted = core.extract(&batch, from: next)
            next = try core.emit(batch, next..<extracted, limit: .max, into: &sink)
        }
        position.offset = end
        for event in log[committed.offset..<end] {
            position.newest = max(position.newest, min(event.time, core.orders.latestTime))
        }
        if let tick {
            let question = Tick(partition: 0, time: tick, clock: clock ?? tick, offset: Int64(end))
            position.watermark = max(
                position.watermark,
                try core.fire(question, slice, into: &sink))
        }
        core.endTransaction()
        if aborts { return core.rollBack() }
        core.commit()
        committed = position
        counts.add(core.counts)
        output.append(sink)
    }

    /// A tick alone.
    mutating func tick(_ time: WallTime, clock: WallTime? = nil, slice: TickSlice = .upTo(nil)) throws {
        try process(0, tick: time, clock: clock, slice: slice)
    }

    /// The process dies, and another one folds the log up to the committed offset.
    ///
    /// - Parameter fromStart: the whole log, and not the last two horizons.
    mutating func crash(fromStart: Bool = false) throws {
        core = try Flow(configuration, recipients: .table(table))
        core.orders.assign(0, watermark: committed.watermark, newest: 0)
        let oldest = committed.newest - 2 * orders.horizon.wholeMilliseconds
        let first = fromStart ? 0 : log.firstIndex { $0.time >= oldest } ?? 0
        var batch = makeBatch(min(first, committed.offset)..<committed.offset)
        if let recordClock { core.orders.states.beginFold(of: 0, latest: RecordTime.latest(at: recordClock)) }
        core.refold(&batch)
        core.orders.resume(0, watermark: committed.watermark, newest: committed.newest)
    }

    /// The process dies, and another one loads the checkpoint that this one wrote at the committed offset.
    mutating func restart() throws {
        var blocks = saved
        core.orders.states.takeChanges(of: 0) { key, block in blocks[key] = block.map { Array($0) } }
        saved = blocks
        let newest = core.orders.newest(in: 0)
        core = try Flow(configuration, recipients: .table(table))
        core.orders.assign(0, watermark: committed.watermark, newest: newest)
        for block in blocks.values { _ = block.withUnsafeBytes { core.orders.states[0]?.load($0) } }
        core.orders.states.trackChanges(of: 0)
        core.orders.resume(0, watermark: committed.watermark, newest: committed.newest)
    }

    func makeBatch(_ range: Range<Int>) -> EventBatch {
        var batch = EventBatch(.orders, topic: "orders.events")
        for offset in range { memory.append(log[offset], partition: 0, offset: Int64(offset), to: &batch) }
        return batch
    }
}

extension ScheduleDriver {
    var orderViews: [OrderView] { core.orders.states.views(of: 0) }
    var views: [String: OrderView] { Dictionary(uniqueKeysWithValues: orderViews.map { ($0.id, $0) }) }
}

extension RecordedRecord {
    /// A string of the payload, read without parsing it; empty where there is none.
    func field(_ name: String) -> String {
        guard let start = text.range(of: "\\\"\(name)\\\":\\\"")?.upperBound else { return "" }
        return String(text[start...].prefix { $0 != "\\" })
    }
}
