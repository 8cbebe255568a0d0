import NotificationPayload

extension Flow {
    /// Fires each timer of a partition at the moment at which it is due, as a worker does that is never late. Everything
    /// that was extracted before must have been emitted, and is committed by this.
    ///
    /// - Parameters:
    ///   - time: T; what is due later stays pending.
    ///   - offset: the offset up to which the partition was read.
    package mutating func play<Sink: RecordSink & ~Copyable>(
        _ partition: Int32, until time: WallTime, offset: Int64, into sink: inout Sink
    ) throws {
        guard let watermark = orders.states[partition]?.watermark else { return }
        commit()
        var next = max(orders.nextDue(in: partition), watermark.time + 1)
        while next <= time {
            _ = try fire(
                Tick(partition: partition, time: next, clock: next, offset: offset), .upTo(nil), into: &sink)
            commit()
            next = orders.nextDue(in: partition)
        }
    }

    /// Writes a slice of a partition's due timers, as the last part of a transaction that has read the partition to its
    /// end: all of them, or as many as the slice allows, at least those of one instant and one hash.
    ///
    /// The output depends only on the state, the watermarks before and after, T and the clock, not on the slicing.
    ///
    /// - Parameter letter: written instead of each push, after the broker has refused one.
    /// - Returns: the partition's new watermark: that of the whole tick, or an earlier one where a limit was reached.
    /// - Throws: as ``emit(_:_:limit:isTimeUp:into:)``; repeat the slice then.
    package mutating func fire<Sink: RecordSink & ~Copyable>(
        _ tick: Tick, _ slice: TickSlice, replacingPushes letter: DeadLetter? = nil, into sink: inout Sink
    ) throws -> TimerWatermark {
        let end = slice.end ?? TimerWatermark(tick.time)
        guard let partition = orders.states[tick.partition] else { return end }
        // The watermark never goes back, whatever the clock does.
        guard end > partition.watermark else { return partition.watermark }
        partition.prepareDue(until: tick.time)
        var run = TimerRun(next: partition.due?.next ?? 0)
        var reached: TimerWatermark?
        while reached == nil, !run.isAtEnd {
            extract(&run, of: partition, tick, until: end)
            reached = try emit(&run, slice, replacingPushes: letter, into: &sink)
        }
        partition.due?.pass(to: run.next)
        cursor.restart()
        orders.states.fired(partition: tick.partition, upTo: reached ?? end)
        return reached ?? end
    }

    /// Puts due timers into a batch of their own, as many as it has room for.
    private mutating func extract(
        _ run: inout TimerRun, of partition: PartitionOrders, _ tick: Tick, until end: TimerWatermark
    ) {
        run.removeAll()
        cursor.restart()
        while !run.isAtEnd, run.timers.count < TimerRun.limit, !run.batch.isFull {
            let index = run.next
            guard partition.dueWatermark(at: index) <= end else {
                run.isAtEnd = true
                return
            }
            run.next += 1
            guard let timer = partition.dueTimer(at: index) else { continue }
            guard let decision = partition.decide(timer, until: tick.time, clock: tick.clock) else { continue }
            run.batch.records.append(
                EventRecord(
                    partition: tick.partition, offset: tick.offset, timestamp: timer.due,
                    key: partition.table.block(timer.order).id, value: nil))
            switch decision {
            case .success(let notification):
                let letter = orders.extractor.append(notification, record: run.timers.count, to: &run.batch)
                run.timers.append(.init(timer, index, letter.map { .deadLetter($0) } ?? .push))
            case .failure(let reason): run.timers.append(.init(timer, index, .drop(reason.drop)))
            }
        }
    }

    /// - Returns: the watermark at which a limit of the slice was reached; nil where none was.
    private mutating func emit<Sink: RecordSink & ~Copyable>(
        _ run: inout TimerRun, _ slice: TickSlice, replacingPushes letter: DeadLetter?, into sink: inout Sink
    ) throws -> TimerWatermark? {
        for record in run.timers.indices {
            let timer = run.timers[record]
            if let last = run.last, last.watermark != timer.watermark,
                run.fired >= slice.maxTimers || written >= slice.maxRecords || slice.isTimeUp()
            {
                run.next = timer.index
                // Within an instant the watermark says which of its timers have fired; after the last one, time is enough.
                return last.due < timer.due ? TimerWatermark(last.due) : last.watermark
            }
            run.last = timer
            switch timer.outcome {
            case .drop(let reason): drop(run.batch.records[record], timer.type, because: reason, into: &sink)
            case .deadLetter(let reason): try emit(reason, for: record, in: run.batch, into: &sink)
            case .push:
                counts.timers += 1
                run.fired += 1
                if let letter {
                    skipNotifications(of: record, in: run.batch)
                    try emit(letter, for: record, in: run.batch, into: &sink)
                } else if let reason = try emit(
                    1, notificationsOf: record, in: run.batch, limit: slice.maxRecords, into: &sink)
                {
                    drop(run.batch.records[record], timer.type, because: reason.ofTimer, into: &sink)
                }
            }
        }
        return nil
    }

    private mutating func drop<Sink: RecordSink & ~Copyable>(
        _ timer: EventRecord, _ type: EventType, because drop: TimerDrop, into sink: inout Sink
    ) {
        counts.count(drop)
        sink.drop(timer, type, because: drop)
    }
}

/// The progress of a slice: the batch of timers at hand, and the position in the tick's list.
private struct TimerRun: ~Copyable {
    struct Timer {
        enum Outcome {
            case push
            case drop(TimerDrop)
            case deadLetter(DeadLetter)
        }

        var due: WallTime
        var watermark: TimerWatermark
        var type: EventType
        /// Its index in the tick's list.
        var index: Int
        var outcome: Outcome

        init(_ timer: DueTimer, _ index: Int, _ outcome: Outcome) {
            due = timer.due
            watermark = timer.watermark
            type = timer.kind.type
            self.index = index
            self.outcome = outcome
        }
    }

    static let limit = 512

    /// The next index in the tick's list, and whether the slice has no more timers.
    var next: Int
    var isAtEnd = false
    var batch = EventBatch(.orders, topic: EventBatch.scheduleTopic)
    /// One for each record of ``batch``.
    var timers: [Timer] = []
    var last: Timer?
    /// How many were not dropped.
    var fired = 0

    mutating func removeAll() {
        batch.removeAll()
        timers.removeAll(keepingCapacity: true)
    }
}

extension EventBatch {
    /// The source topic of a push that a timer sent: its source is `schedule/<partition>/<offset reached>`.
    package static let scheduleTopic = "schedule"
}
