import TestSupport

@testable import DispatchRecords
@testable import Events
@testable import Extraction
@testable import FanOut
@testable import OrderState
@testable import Pipeline
@testable import Subscriptions

/// A record of orders.events.
struct LoggedEvent {
    var timestamp: Int64
    var key: String
    var value: String
    var headers: [(String, String)] = []
}

/// Drives the core over the log of one partition as a worker does: transactions, ticks, aborts, crashes and refolds, with
/// no broker and no clock.
struct ScheduleDriver: ~Copyable {
    /// 2025-07-07T07:00:00Z, a Monday.
    static let morning: Int64 = 1_751_871_600_000
    static let minute: Int64 = 60_000
    static let hour: Int64 = 3_600_000
    static let day: Int64 = 86_400_000

    /// What a group's offset carries.
    struct Position: Equatable {
        var offset = 0
        var watermark = TimerWatermark(ScheduleDriver.morning - 365 * ScheduleDriver.day)
        var newest: Int64 = 0
    }

    let rules: ExtractionRules
    let orders: OrderRules
    let table: SubscriptionTable
    var core: PipelineCore
    var log: [LoggedEvent] = []
    var committed = Position()
    /// What was committed: records, drops and reasons.
    var output = CoreDriver.Sink()
    var counts = Counts()
    private let memory = Memory()

    init(
        orders: OrderRules = OrderRules(), timeZone: String = "UTC", zones: [String: String] = [:],
        places: [String] = ["p1", "p2", "p3"], infersStatusChanges: Bool = false
    ) throws {
        let table = SubscriptionTable.inMemory()
        for place in places {
            let subscription = Subscription(
                audience: "place/\(place)", token: "token-\(place)", platform: .fcm, app: "com.example.shop")
            try Array(subscription.key.utf8).withUnsafeBytes { key in
                try subscription.encoded().withUnsafeBytes { value in
                    let record = SubscriptionRecord(partition: 0, offset: 0, key: key, value: value)
                    _ = try table.apply([record], nextOffsets: [1], at: EventTime(milliseconds: 0))
                }
            }
        }
        let rules = try ExtractionRules(
            timeZone: timeZone, placeTimeZones: zones, infersStatusChanges: infersStatusChanges)
        let core = try Self.makeCore(rules, orders, table)
        self.table = table
        self.rules = rules
        self.orders = orders
        self.core = core
        self.core.assign(0, watermark: committed.watermark, newest: 0)
    }

    private static func makeCore(
        _ rules: ExtractionRules, _ orders: OrderRules, _ table: SubscriptionTable
    ) throws -> PipelineCore {
        let fanOut = try FanOut(
            audienceRule: PlaceAudience(), recipients: .table(table), maxAge: .seconds(3_650 * 86_400))
        return PipelineCore(
            rules: rules, orders: orders, rendering: RenderSettings(), maxDevicesPerEvent: 100, fanOut: fanOut)
    }

    mutating func append(_ events: LoggedEvent...) { log += events }

    /// The first 24 bytes of the payloads' types, orders and times, for tests to compare.
    var pushes: [String] {
        output.records.map { record in
            func field(_ name: String) -> String {
                let mark = "\\\"\(name)\\\":\\\""
                guard let start = record.value.range(of: mark)?.upperBound else { return "" }
                return String(record.value[start...].prefix { $0 != "\\" })
            }
            return "\(field("order_id")) \(field("event_type").dropFirst(6))"
        }
    }

    /// The next records as one transaction, all of them by default, and an optional tick at its end.
    ///
    /// - Parameter aborts: everything is done and then taken back.
    mutating func process(
        _ count: Int? = nil, tick: Int64? = nil, clock: Int64? = nil, slice: TickSlice = .upTo(nil),
        aborts: Bool = false
    ) throws {
        let end = min(log.count, committed.offset + (count ?? log.count))
        var batch = makeBatch(committed.offset..<end)
        var sink = CoreDriver.Sink()
        var next = 0
        var position = committed
        while next < batch.records.count {
            let extracted = core.extract(&batch, from: next)
            if next == 0 { try core.beginTransaction() }
            next = try core.emit(batch, next..<extracted, limit: .max, into: &sink)
        }
        if batch.records.isEmpty { try core.beginTransaction() }
        position.offset = end
        for event in log[committed.offset..<end] { position.newest = max(position.newest, event.timestamp) }
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
        output.records += sink.records
        output.suppressed += sink.suppressed
        output.dropped += sink.dropped
    }

    /// The records that are left in transactions of whole batches, as a worker does with `supersede`.
    ///
    /// - Returns: how many records each transaction had.
    mutating func processWhole(limit: Int) throws -> [Int] {
        var batch = makeBatch(committed.offset..<log.count)
        var sizes: [Int] = []
        var next = 0
        while next < batch.records.count {
            try core.beginTransaction()
            let end = try core.extractWhole(&batch, from: next, limit: limit)
            let emitted = try core.emit(batch, next..<end, limit: .max, into: &output)
            guard emitted == end else { throw CoreDriver.Failure() }
            core.endTransaction()
            core.commit()
            counts.add(core.counts)
            counts.count(core.takeNotes())
            sizes.append(end - next)
            next = end
        }
        committed.offset = log.count
        return sizes
    }

    /// A tick alone.
    mutating func tick(_ time: Int64, clock: Int64? = nil, slice: TickSlice = .upTo(nil)) throws {
        try process(0, tick: time, clock: clock, slice: slice)
    }

    /// The process dies, and another one folds the log up to the committed offset.
    ///
    /// - Parameter fromStart: the whole log, and not the last two horizons.
    mutating func crash(fromStart: Bool = false) throws {
        core = try Self.makeCore(rules, orders, table)
        core.assign(0, watermark: committed.watermark, newest: 0)
        let oldest = committed.newest - 2 * orders.horizon.wholeMilliseconds
        let first = fromStart ? 0 : log.firstIndex { $0.timestamp >= oldest } ?? 0
        var batch = makeBatch(min(first, committed.offset)..<committed.offset)
        core.refold(&batch)
    }

    private func makeBatch(_ range: Range<Int>) -> EventBatch {
        var batch = EventBatch(topic: "orders.events")
        for offset in range {
            let event = log[offset]
            let first = batch.headers.count
            for (name, value) in event.headers {
                batch.headers.append(EventHeader(name: memory.copy(name), value: memory.copy(value)))
            }
            batch.records.append(
                EventRecord(
                    partition: 0, offset: Int64(offset), timestamp: EventTime(milliseconds: event.timestamp),
                    key: memory.copy(event.key), value: memory.copy(event.value),
                    headers: first..<batch.headers.count))
        }
        return batch
    }
}

extension ScheduleDriver {
    var orderViews: [OrderView] { core.orders.views(of: 0) }
    var views: [String: OrderView] { Dictionary(uniqueKeysWithValues: orderViews.map { ($0.id, $0) }) }
}

/// An event of an order at a record time; its event time is the same unless it says another one.
func event(
    _ order: String, _ type: String = "ORDER_CREATED", status: String? = nil, slot: String? = nil, at time: Int64,
    occurred: Int64? = nil, id: String? = nil, place: String = "p1", extra: String = "", orderExtra: String = ""
) -> LoggedEvent {
    let identity = id.map { "\"event_id\":\"\($0)\"," } ?? ""
    let statusText = status.map { ",\"status\":\"\($0)\"" } ?? ""
    var shipping = ""
    if let slot {
        // "2025-07-07 14:00-16:00"
        let parts = slot.split { $0 == " " || $0 == "-" }.map(String.init)
        let count = parts.count
        let date = count == 5 ? "\"date\":\"\(parts[0])-\(parts[1])-\(parts[2])\"," : ""
        shipping = """
            ,"shipping_info":{"slot":{\(date)"start_time":"\(parts[count - 2])","end_time":"\(parts[count - 1])"}}
            """
    }
    let value = """
        {\(identity)"event_type":"\(type)","occurred_at":\(occurred ?? time)\(extra),\
        "order":{"id":"\(order)","order_number":"N-\(order)","place_id":"\(place)"\(statusText)\(shipping)\(orderExtra)}}
        """
    return LoggedEvent(timestamp: time, key: order, value: value)
}
