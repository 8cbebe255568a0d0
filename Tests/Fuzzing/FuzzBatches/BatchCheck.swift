import CarillonTesting
import FuzzSupport

@testable import Notifications
@testable import Pipeline

/// Runs the records of a partition through the core, with the state of their orders and their timers.
struct BatchCheck: ~Copyable {
    private var core = must {
        Flow(
            rules: try ExtractionRules(timeZone: "Europe/Berlin"), orders: OrderRules(), requests: RequestRules(),
            rendering: RenderSettings(), maxDevicesPerEvent: 1_000, maxBytesPerEvent: 1 << 24,
            fanOut: try FanOut(
                audienceRule: OrderAudiences(), recipients: .resolver(TwoDevices()), maxAge: .seconds(86_400)))
    }
    private var batch = EventBatch(.orders, topic: "orders.events")

    /// What is written is the same for one batch, for one of each record, and after a transaction that was aborted.
    mutating func take(_ records: [RecordInput]) {
        let whole = run(records, size: records.count)
        let single = run(records, size: 1)
        expect(Self.isSame(whole, single), "batches make no difference: \(whole), then \(single)")
        let again = run(records, size: records.count, aborts: true)
        expect(Self.isSame(whole, again), "an abort makes no difference: \(whole), then \(again)")
    }

    private static func isSame(_ left: RecordingSink, _ right: RecordingSink) -> Bool {
        left.records == right.records && left.suppressed == right.suppressed && left.dropped == right.dropped
    }

    private mutating func run(_ records: [RecordInput], size: Int, aborts: Bool = false) -> RecordingSink {
        must {
            core.orders.assign(3, watermark: TimerWatermark(RecordInput.noon - 86_400_000), newest: .epoch)
            var sink = RecordingSink()
            for first in stride(from: 0, to: records.count, by: size) {
                batch.removeAll()
                for (offset, record) in records.enumerated().dropFirst(first).prefix(size) {
                    batch.append(record, offset: Int64(offset))
                }
                if aborts {
                    _ = try transact()
                    core.rollBack()
                }
                sink.append(try transact())
                core.commit()
            }
            let time = RecordInput.noon + 86_400_000
            try core.beginTransaction(clock: time, boundsTimes: true)
            let tick = Tick(partition: 3, time: time, clock: time, offset: Int64(records.count))
            _ = try core.fire(tick, .upTo(nil), into: &sink)
            core.endTransaction()
            core.commit()
            return sink
        }
    }

    private mutating func transact() throws -> RecordingSink {
        var sink = RecordingSink()
        try core.beginTransaction(clock: RecordInput.noon, boundsTimes: true)
        var next = 0
        while next < batch.records.count {
            let extracted = core.extract(&batch, from: next)
            next = try core.emit(batch, next..<extracted, limit: .max, into: &sink)
        }
        core.endTransaction()
        return sink
    }
}
