import NotificationPayload

@testable import DispatchRecords
@testable import Events
@testable import Extraction
@testable import FanOut
@testable import OrderState
@testable import Pipeline
@testable import Subscriptions

/// Drives the pipeline's core with no broker: records in, records out.
struct CoreDriver: ~Copyable {
    struct Output: Equatable {
        var key: String
        var value: String
        var headers: [String: String]
        var isDeadLetter = false
    }

    struct Sink: RecordSink {
        var records: [Output] = []
        var suppressed: [SuppressionReason] = []
        /// Order, when it was due, and why it is not sent.
        var dropped: [String] = []
        /// Fails the n-th record from now.
        var failsAfter: Int?

        mutating func dispatch(
            _ record: DispatchRecord, for notification: Events.Notification, from event: EventRecord
        ) throws {
            try add(record.key, record.value, record.headers, isDeadLetter: false)
        }

        mutating func deadLetter(
            _ letter: DeadLetter, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
            headers: UnsafeBufferPointer<EventHeader>, from event: EventRecord
        ) throws {
            try add(key, value, headers, isDeadLetter: true)
        }

        mutating func drop(_ timer: EventRecord, _ type: EventType, because drop: TimerDrop) {
            let order = timer.key.map { String(decoding: $0, as: UTF8.self) } ?? ""
            dropped.append("\(order) \(timer.timestamp?.milliseconds ?? 0) \(drop.label)")
        }

        mutating func suppress(_ event: EventRecord, because reason: SuppressionReason) { suppressed.append(reason) }

        private mutating func add(
            _ key: UnsafeRawBufferPointer?, _ value: UnsafeRawBufferPointer?,
            _ headers: UnsafeBufferPointer<EventHeader>,
            isDeadLetter: Bool
        ) throws {
            if let left = failsAfter {
                guard left > 0 else { throw Failure() }
                failsAfter = left - 1
            }
            func text(_ bytes: UnsafeRawBufferPointer?) -> String {
                bytes.map { String(decoding: $0, as: UTF8.self) } ?? "null"
            }
            records.append(
                Output(
                    key: text(key), value: text(value),
                    headers: Dictionary(headers.map { (text($0.name), text($0.value)) }, uniquingKeysWith: { $1 }),
                    isDeadLetter: isDeadLetter))
        }
    }

    struct Failure: Error {}

    struct Event {
        var value: String?
        var key: String? = "k"
        var headers: [(String, String)] = []
    }

    let table: SubscriptionTable
    var core: PipelineCore
    var batch = EventBatch(topic: "orders.events")
    var sink = Sink()
    private var bytes: [UnsafeMutableRawBufferPointer] = []

    init(
        maxDevices: Int = 100, rule: any AudienceRule = PlaceAudience(), resolver: (any TokenResolver)? = nil
    ) throws {
        let table = SubscriptionTable.inMemory()
        let rules = try ExtractionRules()
        let fanOut = try FanOut(
            audienceRule: rule, recipients: resolver.map(RecipientSource.resolver) ?? .table(table),
            maxAge: .seconds(270 * 86_400))
        self.table = table
        core = PipelineCore(
            rules: rules, orders: OrderRules(), rendering: RenderSettings(), maxDevicesPerEvent: maxDevices,
            fanOut: fanOut)
    }

    deinit {
        for run in bytes { run.deallocate() }
    }

    /// Subscribes a token to a place.
    func subscribe(_ token: String, to place: String, app: String = "com.example.shop") throws {
        let subscription = Subscription(audience: "place/\(place)", token: token, platform: .fcm, app: app)
        let value = subscription.encoded()
        try Array(subscription.key.utf8).withUnsafeBytes { key in
            try value.withUnsafeBytes { value in
                let record = SubscriptionRecord(partition: 0, offset: 0, key: key, value: value)
                _ = try table.apply([record], nextOffsets: [1], at: EventTime(milliseconds: 0))
            }
        }
    }

    /// Extracts these events as one batch.
    mutating func take(_ events: [Event]) {
        batch.removeAll()
        for (offset, event) in events.enumerated() {
            let first = batch.headers.count
            for (name, value) in event.headers {
                batch.headers.append(EventHeader(name: copy(name)!, value: copy(value)))
            }
            batch.records.append(
                EventRecord(
                    partition: 0, offset: Int64(offset),
                    timestamp: EventTime(milliseconds: 1_725_707_721_000), key: copy(event.key),
                    value: copy(event.value), headers: first..<batch.headers.count))
        }
        _ = core.extract(&batch, from: 0)
    }

    /// Emits in one transaction after the other until the batch is done; the end of each.
    mutating func emitAll(limit: Int = .max) throws -> [Int] {
        var ends: [Int] = []
        while (ends.last ?? 0) < batch.records.count {
            try core.beginTransaction()
            ends.append(try core.emit(batch, (ends.last ?? 0)..<batch.records.count, limit: limit, into: &sink))
        }
        return ends
    }

    private mutating func copy(_ text: String?) -> UnsafeRawBufferPointer? {
        guard let text else { return nil }
        let run = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, text.utf8.count), alignment: 1)
        run.copyBytes(from: text.utf8)
        bytes.append(run)
        return UnsafeRawBufferPointer(rebasing: run[..<text.utf8.count])
    }
}

/// A native event of an order.
func orderEvent(
    _ id: String, place: String = "p1", type: String = "ORDER_CREATED", status: String = "pending", extra: String = ""
) -> CoreDriver.Event {
    CoreDriver.Event(
        value: """
            {"event_id":"e-\(id)","event_type":"\(type)","occurred_at":"2024-09-07T11:15:21Z"\(extra),\
            "order":{"id":"\(id)","order_number":"N-\(id)","place_id":"\(place)","status":"\(status)",\
            "shipping_info":{"slot":{"date":"2025-07-07","start_time":"14:00","end_time":"16:00"}}}}
            """, key: id)
}
