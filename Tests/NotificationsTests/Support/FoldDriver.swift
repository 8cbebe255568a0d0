import CarillonTesting
import NotificationPayload

@testable import Notifications

/// Folds the log of one partition: each record is extracted, then all are committed or taken back. Nothing is sent, and
/// no timer fires.
struct FoldDriver: ~Copyable {
    /// 2025-07-07T07:00:00Z, a Monday.
    static let morning: WallTime = 1_751_871_600_000
    static let minute: Int64 = 60_000
    static let hour: Int64 = 3_600_000
    static let day: Int64 = 86_400_000

    let rules: OrderRules
    var orders: OrderStates
    private var extractor: Extractor
    private var log: [SampleRecord] = []
    /// How many records of the log are committed.
    private(set) var committed = 0
    let watermark = TimerWatermark(FoldDriver.morning - 365 * FoldDriver.day)

    /// The outcomes of the records that are committed.
    private(set) var payloads: [OrderPayload] = []
    private(set) var suppressed: [SuppressionReason] = []
    private(set) var deadLetters: [DeadLetter.Code] = []

    init(rules: OrderRules = OrderRules(), infersStatusChanges: Bool = false) throws {
        let zones = try ExtractionRules(infersStatusChanges: infersStatusChanges)
        self.rules = rules
        orders = OrderStates(rules: rules, zones: zones)
        extractor = Extractor(rules: zones)
        orders.assign(0, watermark: watermark, newest: 0)
    }

    mutating func append(_ events: SampleRecord...) { log += events }

    /// Folds the records that are left.
    ///
    /// - Parameter aborts: they are folded and then taken back.
    mutating func process(aborts: Bool = false) throws {
        let memory = Memory()
        var batch = EventBatch(.orders, topic: "orders.events")
        for offset in committed..<log.count {
            memory.append(log[offset], partition: 0, offset: Int64(offset), to: &batch)
        }
        for record in batch.records.indices {
            orders.begin(batch.records[record])
            let outcome = extractor.extract(record, in: &batch, history: &orders)
            guard !aborts else { continue }
            switch outcome {
            case .notifications(let count):
                for notification in batch.notifications.suffix(count) {
                    payloads.append(try OrderPayload(encoded: batch.payload(of: notification)))
                }
            case .suppressed(let reason): suppressed.append(reason)
            case .deadLetter(let letter): deadLetters.append(letter.code)
            }
        }
        withExtendedLifetime(memory) {}
        if aborts { return orders.rollBack() }
        orders.commit()
        committed = log.count
    }

    /// What the events had that was unusual.
    var notes: ExtractionNotes { extractor.notes }

    /// The orders and types of what is to be sent, for tests to compare.
    var pushes: [String] { payloads.map { "\($0.orderID) \($0.eventType.dropFirst(6))" } }

    var orderViews: [OrderView] { orders.views(of: 0) }
    var views: [String: OrderView] { Dictionary(uniqueKeysWithValues: orderViews.map { ($0.id, $0) }) }
}
