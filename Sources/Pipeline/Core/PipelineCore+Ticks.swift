import Extraction
import FanOut

extension PipelineCore {
    /// Writes the timers of a partition that are due, as the last thing of the transaction that has read it to its end.
    ///
    /// - Parameters:
    ///   - limit: of timers; those that are due at the same time stay together.
    ///   - letter: what becomes of every timer that would be sent, where the broker has refused them.
    /// - Returns: the partition's watermark from now on: the tick's time, or less where the limit was reached.
    /// - Throws: as ``emit(_:_:limit:into:)``; the tick is then to be done anew.
    package mutating func fire<Sink: RecordSink & ~Copyable>(
        _ tick: Tick, limit: Int, condemning letter: DeadLetter? = nil, into sink: inout Sink
    ) throws -> Int64 {
        guard let partition = orders[tick.partition] else { return tick.time }
        // The watermark never goes back, whatever the clock does.
        guard tick.time > partition.watermark else { return partition.watermark }
        var due: [DueTimer] = []
        let watermark = partition.collectDue(until: tick.time, limit: limit, into: &due)
        var timers = EventBatch(topic: "schedule")
        var next = 0
        while next < due.count {
            next = extract(due, from: next, of: partition, tick, watermark, into: &timers, &sink)
            for record in timers.records.indices {
                guard case .notifications(let count) = outcomes[record], count > 0 else {
                    if case .deadLetter(let letter) = outcomes[record] {
                        try emit(letter, for: record, in: timers, into: &sink)
                    }
                    continue
                }
                counts.timers += 1
                if let letter {
                    skipNotifications(of: record, in: timers)
                    try emit(letter, for: record, in: timers, into: &sink)
                    continue
                }
                if let reason = try emit(count, notificationsOf: record, in: timers, limit: .max, into: &sink) {
                    drop(record, of: timers, because: reason == .staleToken ? .staleToken : .noSubscriber, into: &sink)
                }
            }
        }
        outcomes.removeAll(keepingCapacity: true)
        nextRecord = 0
        orders.fired(partition: tick.partition, upTo: watermark)
        return watermark
    }

    /// Puts due timers into a batch of their own, as many as it has room for; one that is not sent is counted.
    private mutating func extract<Sink: RecordSink & ~Copyable>(
        _ due: [DueTimer], from first: Int, of partition: PartitionOrders, _ tick: Tick, _ watermark: Int64,
        into timers: inout EventBatch, _ sink: inout Sink
    ) -> Int {
        timers.removeAll()
        outcomes.removeAll(keepingCapacity: true)
        firstExtracted = 0
        nextNotification = 0
        resolvedEnd = 0
        var next = first
        while next < due.count, timers.records.count < Self.timersAtOnce, !timers.isFull {
            let timer = due[next]
            next += 1
            guard let decision = partition.decide(timer, watermark: watermark, clock: tick.clock) else { continue }
            timers.records.append(
                EventRecord(
                    partition: tick.partition, offset: tick.offset, timestamp: EventTime(milliseconds: timer.due),
                    key: partition.table.block(timer.order).id, value: nil))
            let record = timers.records.count - 1
            switch decision {
            case .success(let notification):
                let letter = extractor.append(notification, record: record, to: &timers)
                outcomes.append(letter.map { .deadLetter($0) } ?? .notifications(1))
            case .failure(let reason):
                outcomes.append(.notifications(0))
                drop(record, of: timers, because: reason.drop, into: &sink)
            }
        }
        return next
    }

    private static let timersAtOnce = 512

    private mutating func drop<Sink: RecordSink & ~Copyable>(
        _ record: Int, of timers: borrowing EventBatch, because drop: TimerDrop, into sink: inout Sink
    ) {
        counts.count(drop)
        sink.drop(timers.records[record], because: drop)
    }
}
