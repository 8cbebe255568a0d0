import Extraction
import FanOut
import NotificationPayload

extension PipelineCore {
    /// Fires the timers of a partition each at the moment at which it is due, as a worker does that is never late. What
    /// was extracted before is emitted, and is committed by this.
    ///
    /// - Parameters:
    ///   - time: T; what is due later stays.
    ///   - offset: that the partition was read to.
    package mutating func play<Sink: RecordSink & ~Copyable>(
        _ partition: Int32, until time: Int64, offset: Int64, into sink: inout Sink
    ) throws {
        guard let watermark = orders[partition]?.watermark else { return }
        commit()
        var next = max(nextDue(in: partition), watermark + 1)
        while next <= time {
            _ = try fire(Tick(partition: partition, time: next, clock: next, offset: offset), limit: .max, into: &sink)
            commit()
            next = nextDue(in: partition)
        }
    }

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
        var timers = EventBatch(topic: EventBatch.scheduleTopic)
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
                    let type = timers.notifications[nextNotification - 1].eventType
                    drop(
                        timers.records[record], type, because: reason == .staleToken ? .staleToken : .noSubscriber,
                        into: &sink)
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
                let type = OrderTimers.type(of: Int(timer.number))
                drop(timers.records[record], type, because: reason.drop, into: &sink)
            }
        }
        return next
    }

    private static let timersAtOnce = 512

    private mutating func drop<Sink: RecordSink & ~Copyable>(
        _ timer: EventRecord, _ type: EventType, because drop: TimerDrop, into sink: inout Sink
    ) {
        counts.count(drop)
        sink.drop(timer, type, because: drop)
    }
}

extension EventBatch {
    /// Where a push says that it comes from when a timer sent it: `schedule/<partition>/<offset reached>`.
    package static let scheduleTopic = "schedule"
}
