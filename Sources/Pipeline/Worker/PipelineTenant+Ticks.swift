import KafkaClient
import Streaming

/// The ticks that wait for their partition's end, since a tick never overtakes the log, and those in progress.
struct PendingTicks {
    struct Pending {
        /// T: timers that are due at or before it fire.
        var time: WallTime
        /// The last stable offset, queried at T.
        var end: Int64
        /// How often the end was queried.
        var questions: Int
        /// Some of its timers have been sent: T stays, or a reminder that one slice has sent would be overtaken in another.
        var isUnderWay = false
    }

    var pending: [Int32: Pending] = [:]
    /// A slice has been committed, and events of these inputs may have waited meanwhile: they come next.
    var yieldsTo: Set<Int> = []
    /// Timers wait because of the clock; nil: they do not.
    var clockAhead: ClockAhead?
    /// The partition that had the latest slice; the next one is after it.
    private var latest: Int32 = -1
    private var lookedAt: ContinuousClock.Instant?

    /// A partition whose end was queried this often is not queried again: under load it may never be at its end.
    static let mostQuestions = 3

    /// Whether a tick has slices left to send.
    var isUnderWay: Bool { pending.values.contains { $0.isUnderWay } }

    /// Whether it is time to look at the timers; true once per tick.
    mutating func isLookDue(_ tick: Duration, now: ContinuousClock.Instant) -> Bool {
        if let lookedAt, now - lookedAt < tick { return false }
        lookedAt = now
        return true
    }

    /// The partitions whose end has been reached, that of the latest slice last.
    func reached(_ reached: (Int32) -> Int64?) -> [Int32] {
        let partitions = pending.filter { partition, tick in reached(partition).map { $0 >= tick.end } ?? false }.keys
        return partitions.sorted { ($0 <= latest ? 1 : 0, $0) < ($1 <= latest ? 1 : 0, $1) }
    }

    /// Whether a reached end is so old that it is queried again: after a backlog there is one tick, with the time at its
    /// end, and not another one before it, with the time at which the backlog began.
    func isStale(_ partition: Int32, now: WallTime, tick: Duration) -> Bool {
        guard let found = pending[partition], !found.isUnderWay, found.questions < Self.mostQuestions else {
            return false
        }
        return now - found.time > 2 * max(tick.wholeMilliseconds, 1_000)
    }

    /// A slice has moved a partition's watermark to this one.
    mutating func fired(_ partition: Int32, upTo watermark: TimerWatermark) {
        latest = partition
        guard let time = pending[partition]?.time, watermark < TimerWatermark(time) else {
            pending[partition] = nil
            return
        }
        pending[partition]?.isUnderWay = true
    }

    mutating func removeAll() {
        pending.removeAll()
        yieldsTo.removeAll()
    }
}

extension PipelineTenant {
    // MARK: Ends

    /// The partitions where a timer is due, once per tick, and those whose end was asked for too long ago.
    mutating func endsToAsk(_ now: WallTime) -> [TopicPartition] {
        guard let schedule = context.configuration.orders.schedule else { return [] }
        var partitions = reachedTicks.filter { ticks.isStale($0, now: now, tick: schedule.tick) }
        if ticks.clockAhead == nil, ticks.isLookDue(schedule.tick, now: context.now) {
            partitions += positions.orders.owned.filter {
                ticks.pending[$0] == nil && canFire($0) && core.orders.isDue(in: $0, at: now)
            }
        }
        return partitions.map { TopicPartition(topic: context.configuration.topics.events, partition: $0) }
    }

    mutating func found(ends: [TopicPartition: Offset], at time: WallTime) {
        for (id, end) in ends {
            let questions = ticks.pending[id.partition]?.questions ?? 0
            ticks.pending[id.partition] = .init(time: time, end: end.value, questions: questions + 1)
        }
    }

    /// Whether timers can go in the next transaction: their partition has been read to its end as of the tick.
    var isTickReady: Bool {
        !ticks.pending.isEmpty && !ticks.yieldsTo.contains { wants($0) } && !intake.isAtWork && !reachedTicks.isEmpty
    }

    private var reachedTicks: [Int32] {
        ticks.pending.isEmpty ? [] : ticks.reached { canFire($0) ? positions.orders[$0]?.reached : nil }
    }

    private func canFire(_ partition: Int32) -> Bool { positions.orders[partition]?.isFolding == false }

    // MARK: Timers

    /// Fires the timers whose partition has been read to its end as of the tick, in a transaction of their own. Writes
    /// nothing where nothing is due.
    ///
    /// Where more are due than a transaction may have, in records or in age, they are sent in slices, with events in
    /// between (ADR 31).
    mutating func act(_ time: TransactionTime) throws -> Bool {
        guard isTickReady else { return false }
        try begin(time)
        transactions.takesTimers()
        for partition in reachedTicks {
            let isAlone = transactions.outlasts.isAlone(timerOf: partition)
            if isAlone, core.counts.timers > 0 { break }
            let timers = isAlone ? 1 : transactions.isolation.tickLimit
            try fire(partition, maxTimers: timers ?? .max, time)
            // Timers that are isolated are of one partition.
            if timers != nil || isFull(time) { break }
        }
        ticks.yieldsTo = ticks.pending.isEmpty ? [] : Set(context.sources.indices)
        return true
    }

    /// Whether the transaction has reached one of its limits: nothing more is begun in it.
    private func isFull(_ time: TransactionTime) -> Bool {
        core.written >= transactions.outlasts.records(most: context.configuration.commitMaxRecords)
            || time.isOld(context.configuration, now: context.now)
    }

    /// Sends a slice of a partition's timers.
    private mutating func fire(_ partition: Int32, maxTimers: Int, _ time: TransactionTime) throws {
        guard let pending = ticks.pending[partition], let position = positions.orders[partition] else { return }
        let context = context
        let configuration = context.configuration
        let isolation = transactions.isolation
        let letter: DeadLetter? =
            if transactions.outlasts.isCondemned(timerOf: partition) {
                .timerOutlasts(configuration.transactionTimeout)
            } else if isolation.tickTreatment.isDeadLetter {
                .timerRefused(isolation.lastError ?? "")
            } else {
                nil
            }
        let limit = transactions.outlasts.records(most: configuration.commitMaxRecords)
        transactions.takesTimers(of: partition)
        output.source = .orders
        let watermark = try core.fire(
            Tick(partition: partition, time: pending.time, clock: time.clock, offset: position.next),
            TickSlice(maxTimers: maxTimers, maxRecords: limit) { time.isOld(configuration, now: context.now) },
            replacingPushes: letter, into: &output)
        positions.orders.fire(partition: partition, upTo: watermark, tick: pending.time)
        ticks.fired(partition, upTo: watermark)
        try context.reach(.afterTick, worker: slot.number)
    }

    // MARK: The broker's clock (ADR 35)

    mutating func asksForTime(_ now: ContinuousClock.Instant) -> Bool {
        guard ticks.clockAhead != nil, let schedule = context.configuration.orders.schedule else { return false }
        return ticks.isLookDue(schedule.tick, now: now)
    }

    mutating func heard(_ brokerTime: WallTime?, at clock: WallTime) {
        if let ahead = ClockAhead(clock: clock, appended: brokerTime) { return holdTimers(ahead) }
        ticks.clockAhead = nil
        context.meter.setClockAhead(0, worker: slot.number)
        logger.notice("the clock agrees with the broker's again: timers are sent")
    }

    mutating func holdTimers(_ ahead: ClockAhead) {
        ticks.clockAhead = ahead
        context.meter.setClockAhead(ahead.milliseconds / 1000, worker: slot.number)
        if context.patience.isDue("clock-ahead") {
            logger.warning(
                "the clock is \(ahead.milliseconds / 1000) s ahead of the broker's: timers wait until it agrees; set "
                    + "this machine's clock")
        }
    }
}
