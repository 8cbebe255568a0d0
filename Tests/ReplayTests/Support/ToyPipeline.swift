import CarillonTesting
import KafkaClient
import Notifications
import Pipeline
import TestSupport

@testable import Replay

struct LoggedSubscription {
    var partition: Int32
    var offset: Int64
    var time: WallTime
    var key: String
    var value: [UInt8]?
}

/// Also records what a replay writes.
extension RecordingSink: ReplaySink {
    /// The pushes, as a replay compares them.
    var pushes: [RenderedRecord] {
        dispatches.map { record in
            RenderedRecord(
                key: record.key ?? [], value: record.value ?? [],
                headers: record.headers.map { RecordHeader($0.name, $0.value) })
        }
    }

    var letters: [String] {
        deadLetters.map { letter in
            func header(_ name: String) -> String { letter.header(name) ?? "" }
            return "\(header("__connect.errors.partition"))/\(header("__connect.errors.offset"))"
                + " \(header("x-error-code")) \(header("__connect.errors.exception.message"))"
        }
    }

    var reasons: [String] {
        suppressed.map { "\($0.partition)/\($0.offset) \($0.reason.label)" }
            + dropped.map { "\($0.partition)/\($0.offset) \($0.type) \($0.reason.label)" }
    }
}

/// In these tests a number is a partition of the orders.
extension SourcePartition: ExpressibleByIntegerLiteral {
    public init(integerLiteral number: Int32) { self.init(.orders, number) }
}

/// A pipeline without Kafka that does what a worker does: transactions over several partitions, ticks, a table that
/// changes between them, offset jumps; and the logs that it writes.
struct ToyPipeline: ~Copyable {
    static let morning: WallTime = 1_751_871_600_000
    static let minute: Int64 = 60_000
    static let partitions: Int32 = 3
    static let requestPartitions: Int32 = 2
    static var topics: PipelineConfiguration.Topics {
        var topics = PipelineConfiguration.Topics()
        topics.requests = "notifications.requests"
        return topics
    }

    let configuration: PipelineConfiguration
    private let table: SubscriptionTable
    private var core: Flow
    private let memory = Memory()
    private(set) var logs: [[SampleRecord]] = Array(repeating: [], count: Int(partitions))
    private(set) var requests: [[SampleRecord]] = Array(repeating: [], count: Int(requestPartitions))
    private(set) var subscriptions: [LoggedSubscription] = []
    private(set) var journal: [JournalStep] = []
    private(set) var output = RecordingSink()
    private(set) var pushes: [RenderedRecord] = []
    private var committed = [Int](repeating: 0, count: Int(partitions))
    private var committedRequests = [Int](repeating: 0, count: Int(requestPartitions))
    private var watermarks = [TimerWatermark](repeating: TimerWatermark(morning - 1), count: Int(partitions))
    private(set) var clock = morning

    init(_ adjust: (inout PipelineConfiguration) throws -> Void = { _ in }) throws {
        var configuration = try PipelineTestDriver.configuration(ExtractionRules(timeZone: "Europe/Berlin"))
        configuration.orders.horizon = .seconds(86_400)
        configuration.orders.terminalRetention = .seconds(6 * 3_600)
        configuration.maxDevicesPerEvent = 4
        configuration.topics = Self.topics
        try adjust(&configuration)
        let table = SubscriptionTable.inMemory(partitions: 2)
        let core = try Flow(configuration, recipients: .table(table))
        self.configuration = configuration
        self.table = table
        self.core = core
        for partition in 0..<Self.partitions {
            self.core.orders.assign(partition, watermark: TimerWatermark(Self.morning - 1), newest: 0)
        }
        for partition in 0..<Self.requestPartitions { self.core.requests.states.assign(partition, newest: 0) }
    }

    /// The clock, if the record has no timestamp.
    mutating func append(_ event: SampleRecord, to partition: Int) {
        var event = event
        event.timestamp = event.timestamp ?? clock
        logs[partition].append(event)
    }

    /// The same for a request, with any key.
    mutating func ask(_ request: SampleRecord, to partition: Int = 0) {
        var request = request
        request.key = request.key ?? "key"
        request.timestamp = request.timestamp ?? clock
        requests[partition].append(request)
    }

    func logs(of source: SourceKind) -> [[SampleRecord]] {
        switch source {
        case .orders: logs
        case .requests: requests
        }
    }

    mutating func pass(_ time: Int64) { clock += time }

    /// A subscription to a place, or an unsubscription, in the topic and in the table.
    mutating func subscribe(
        _ token: String, to place: String, lastSeen: WallTime? = nil, app: String? = "com.example.shop"
    ) throws {
        try subscribe(token, toAudience: "place/\(place)", lastSeen: lastSeen, app: app)
    }

    mutating func subscribe(
        _ token: String, toAudience audience: String, lastSeen: WallTime? = nil, app: String? = "com.example.shop"
    ) throws {
        let partition = token.utf8.reduce(0) { $0 + Int($1) } % 2
        var subscription = Subscription(audience: audience, token: token, platform: .fcm, app: app ?? "")
        subscription.lastSeenAt = lastSeen
        let change = LoggedSubscription(
            partition: Int32(partition), offset: table.appliedOffsets[partition], time: clock, key: subscription.key,
            value: app == nil ? nil : subscription.encoded())
        subscriptions.append(change)
        try apply(change)
    }

    private func apply(_ change: LoggedSubscription) throws {
        try table.apply(
            key: Array(change.key.utf8), value: change.value, partition: Int(change.partition),
            at: change.time)
    }

    static func withRecord(_ change: LoggedSubscription, _ body: (SubscriptionRecord) throws -> Void) throws {
        try Array(change.key.utf8).withUnsafeBytes { key in
            try (change.value ?? []).withUnsafeBytes { value in
                try body(
                    SubscriptionRecord(
                        partition: change.partition, offset: change.offset, key: key,
                        value: change.value == nil ? nil : value))
            }
        }
    }

    /// One transaction: the given number of events of each partition and of requests, then a tick in the given
    /// partitions.
    mutating func transact(_ counts: [Int], requests asked: [Int] = [], ticks: Set<Int> = []) throws {
        var batch = EventBatch(.orders, topic: configuration.topics.events)
        var ends = committed
        for (partition, count) in counts.enumerated() {
            ends[partition] = min(logs[partition].count, committed[partition] + count)
            fill(&batch, partition, committed[partition]..<ends[partition])
        }
        var sink = RecordingSink()
        try core.beginTransaction(clock: clock, boundsTimes: true)
        try transact(requests: asked, into: &sink)
        var next = 0
        while next < batch.records.count {
            let end = core.extract(&batch, from: next)
            next = try core.emit(batch, next..<end, limit: .max, into: &sink)
        }
        for partition in 0..<Int(Self.partitions) {
            let before = watermarks[partition]
            if ticks.contains(partition) {
                let tick = Tick(
                    partition: Int32(partition), time: clock - 1_000, clock: clock, offset: Int64(ends[partition]))
                watermarks[partition] = try core.fire(tick, TickSlice(maxTimers: 3), into: &sink)
            }
            guard ends[partition] != committed[partition] || watermarks[partition] != before else { continue }
            journal.append(
                JournalStep(
                    partition: SourcePartition(.orders, Int32(partition)), from: Int64(committed[partition]),
                    to: Int64(ends[partition]),
                    watermarkBefore: before, watermarkAfter: watermarks[partition],
                    until: ticks.contains(partition) ? clock - 1_000 : nil, clock: clock,
                    table: core.tableOffsets,
                    rules: configuration.rulesHash, group: configuration.groupID, cluster: "toy",
                    dispatch: configuration.topics.dispatch,
                    first: fingerprint(logs[partition], committed[partition]..<ends[partition]),
                    coordinates: Coordinates(partition: 0, offset: Int64(journal.count))))
        }
        core.endTransaction()
        core.commit()
        committed = ends
        output.append(sink)
        pushes += sink.pushes
    }

    private mutating func transact(requests counts: [Int], into sink: inout RecordingSink) throws {
        for (partition, count) in counts.enumerated() {
            let range =
                committedRequests[
                    partition]..<min(
                    requests[partition].count, committedRequests[partition] + count)
            guard !range.isEmpty else { continue }
            var batch = batch(partition, range, of: .requests)
            _ = core.extract(&batch, from: 0)
            _ = try core.emit(batch, batch.records.indices, limit: .max, into: &sink)
            committedRequests[partition] = range.upperBound
            journal.append(
                JournalStep(
                    partition: SourcePartition(.requests, Int32(partition)), from: Int64(range.lowerBound),
                    to: Int64(range.upperBound), watermarkBefore: TimerWatermark(0), watermarkAfter: TimerWatermark(0),
                    clock: clock, table: core.tableOffsets, rules: configuration.rulesHash,
                    group: configuration.groupID, cluster: "toy", dispatch: configuration.topics.dispatch,
                    first: fingerprint(requests[partition], range),
                    coordinates: Coordinates(partition: 0, offset: Int64(journal.count))))
        }
    }

    /// The first record of a range.
    private func fingerprint(_ log: [SampleRecord], _ range: Range<Int>) -> RecordFingerprint? {
        guard let offset = range.first else { return nil }
        let event = log[offset]
        return Array((event.key ?? "").utf8).withUnsafeBytes {
            RecordFingerprint(offset: Int64(offset), timestamp: event.timestamp, key: $0)
        }
    }

    /// Another group on the same logs, which starts when the first one is done, with transactions of its own size.
    static func following(
        _ first: borrowing ToyPipeline, group: String, by count: Int,
        _ adjust: (inout PipelineConfiguration) throws -> Void = { _ in }
    ) throws -> ToyPipeline {
        var toy = try ToyPipeline { configuration in
            configuration.groupID = group
            try adjust(&configuration)
        }
        toy.logs = first.logs
        toy.clock = first.clock
        for change in first.subscriptions {
            toy.subscriptions.append(change)
            try toy.apply(change)
        }
        while toy.committed != toy.logs.map(\.count) {
            toy.pass(minute)
            try toy.transact([count, count, count], ticks: [0, 1, 2])
        }
        return toy
    }

    /// The effect of `offsets set` and a restart: the state is folded again up to the new offset, the watermark stays.
    mutating func jump(_ partition: Int, to offset: Int) {
        core.orders.assign(Int32(partition), watermark: watermarks[partition], newest: 0)
        var batch = EventBatch(.orders, topic: configuration.topics.events)
        fill(&batch, partition, 0..<offset)
        core.refold(&batch)
        core.orders.resume(Int32(partition), watermark: watermarks[partition])
        committed[partition] = offset
    }

    /// Records of a partition, as a consumer would return them.
    func batch(_ partition: Int, _ range: Range<Int>, of source: SourceKind = .orders) -> EventBatch {
        var batch = EventBatch(source, topic: configuration.topics.topic(of: source))
        fill(&batch, partition, range)
        return batch
    }

    private func fill(_ batch: inout EventBatch, _ partition: Int, _ range: Range<Int>) {
        for offset in range {
            var event = logs(of: batch.source)[partition][offset]
            let digits = String(1_000_000_000_000_000 + 2 * offset + partition)
            event.headers = [("traceparent", "00-\(digits)\(digits)-\(digits)-01")]
            memory.append(event, partition: Int32(partition), offset: Int64(offset), to: &batch)
        }
    }
}

extension ToyPipeline {
    /// A day in the life, from a seed.
    static func lived(
        seed: UInt64, jumps: Bool = false, requests: Bool = false, strangeTimes: Bool = false,
        _ adjust: (inout PipelineConfiguration) throws -> Void = { _ in }
    ) throws -> ToyPipeline {
        var toy = try ToyPipeline(adjust)
        var random = SeededGenerator(seed: seed)
        // Of their own, so that a day without requests stays what it is.
        var requestRandom = SeededGenerator(seed: seed &+ 1_000)
        var strangeRandom = SeededGenerator(seed: seed &+ 2_000)
        for place in 0..<6 { try toy.subscribe("token-\(place)", to: "p\(place)") }
        for user in 0..<4 where requests { try toy.subscribe("token-\(user)", toAudience: "user/\(user)") }
        for index in 0..<300 {
            toy.pass(Int64.random(in: 0...(12 * minute), using: &random))
            let order = Int.random(in: 0..<40, using: &random)
            var event = event(order, index, at: toy.clock, &random)
            if strangeTimes, Int.random(in: 0..<8, using: &strangeRandom) == 0 {
                let days = Int64.random(in: -40...40, using: &strangeRandom)
                event.timestamp = days > 30 ? .distantFuture : toy.clock + days * 86_400_000
            }
            toy.append(event, to: order % Int(partitions))
            if Int.random(in: 0..<10, using: &random) == 0, var again = toy.logs[order % Int(partitions)].last {
                // A producer that sends a record twice.
                again.timestamp = nil
                toy.append(again, to: order % Int(partitions))
            }
            if Int.random(in: 0..<100, using: &random) < 25 {
                let token = Int.random(in: 0..<12, using: &random)
                let isGone = Int.random(in: 0..<3, using: &random) == 0
                let seen = Int.random(in: 0..<8, using: &random) == 0 ? toy.clock - 400 * 86_400_000 : nil
                // Each token has two places, so that there is something to unsubscribe from.
                let place = Bool.random(using: &random) ? token % 6 : (token * 5 + 1) % 6
                try toy.subscribe(
                    "token-\(token)", to: "p\(place)", lastSeen: seen,
                    app: isGone ? nil : "com.example.shop\(index)")
            }
            if requests { toy.ask(request(index, at: toy.clock, &requestRandom), to: index % 2) }
            guard Int.random(in: 0..<100, using: &random) < 35 else { continue }
            let ticks = (0..<Int(partitions)).filter { _ in Int.random(in: 0..<2, using: &random) == 0 }
            let counts = (0..<Int(partitions)).map { _ in Int.random(in: 0..<12, using: &random) }
            try toy.transact(
                counts, requests: (0..<2).map { _ in Int.random(in: 0..<8, using: &requestRandom) }, ticks: Set(ticks))
            if jumps, Int.random(in: 0..<20, using: &random) == 0 {
                let partition = Int.random(in: 0..<Int(partitions), using: &random)
                toy.jump(partition, to: Int.random(in: 0...toy.logs[partition].count, using: &random))
            }
        }
        toy.pass(5 * minute)
        try toy.transact([1_000, 1_000, 1_000], requests: [1_000, 1_000], ticks: [0, 1, 2])
        try toy.transact([0, 0, 0], ticks: [0, 1, 2])
        return toy
    }

    /// One that is sent, expires, is repeated, goes to nobody, or is wrong.
    private static func request(
        _ index: Int, at time: WallTime, _ random: inout SeededGenerator
    ) -> SampleRecord {
        let identity = Int.random(in: 0..<8, using: &random) == 0 ? index - 2 : index
        let user = Int.random(in: 0..<6, using: &random)
        let content =
            Bool.random(using: &random)
            ? #""app":{"title":"T\#(index)","body":"B","data":{"type":"NewBill"}}"#
            : #""message":{"title":"T\#(index)","body":"B"}"#
        let audience =
            Int.random(in: 0..<3, using: &random) == 0 ? #"["user/\#(user)","place/p1"]"# : #""user/\#(user)""#
        let expiry =
            Int.random(in: 0..<3, using: &random) == 0
            ? #","expires_at":\#((time + Int64.random(in: -5...60, using: &random) * minute).milliseconds)"# : ""
        let key = Int.random(in: 0..<4, using: &random) == 0 ? #","collapse_key":"k\#(user)""# : ""
        var value =
            #"{"request_id":"r\#(identity)","requested_at":\#(time.milliseconds),"audience":\#(audience)\#(expiry)\#(key),\#(content)}"#
        if Int.random(in: 0..<15, using: &random) == 0 { value = value.replacing(#""body":"B""#, with: #""body":7"#) }
        return SampleRecord(key: "user/\(user)", value: value, at: time)
    }

    private static func event(
        _ order: Int, _ index: Int, at time: WallTime, _ random: inout SeededGenerator
    ) -> SampleRecord {
        let types = ["ORDER_CREATED", "ORDER_STATUS_CHANGED", "ORDER_STATUS_CHANGED", "ORDER_IDS_LISTED", "NONSENSE"]
        let type = types[min(Int.random(in: 0..<24, using: &random), 27) % 6 % 5]
        let statuses = ["pending", "processing", "picking", "picked", "cancelled"]
        let status = statuses[Int.random(in: 0..<5, using: &random)]
        let text = (time + (Int64.random(in: -20...90, using: &random) + 120) * minute).iso8601
        let place = "p\(Int.random(in: 0..<10, using: &random) == 0 ? 7 : order % 6)"
        let identity = Int.random(in: 0..<8, using: &random) == 0 ? index - 1 : index
        var value = """
            {"event_id":"e\(identity)","event_type":"\(type)","occurred_at":\(time.milliseconds),"order":{"id":"o\(order)",\
            "order_number":"N\(order)","place_id":"\(place)","status":"\(status)","shipping_info":{"slot":\
            {"date":"\(text.prefix(10))","start_time":"\(text.dropFirst(11).prefix(5))","end_time":"23:45"}}}}
            """
        if type == "ORDER_IDS_LISTED" {
            value = """
                {"event_id":"e\(identity)","event_type":"\(type)","occurred_at":\(time.milliseconds),"place_id":"\(place)",\
                "order_ids":["a\(index)","b\(index)"]}
                """
        }
        return SampleRecord(key: "o\(order)", value: value, at: time)
    }
}
