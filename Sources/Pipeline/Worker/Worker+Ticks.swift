import KafkaClient

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
    /// A slice has been committed, and events have waited meanwhile: they come next.
    var yieldsToEvents = false
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
    mutating func isLookDue(_ tick: Duration, now: ContinuousClock.Instant = .now) -> Bool {
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
        yieldsToEvents = false
    }
}

extension Worker {
    /// Checks the timers once per tick, and fires those whose partition has been read to its end as of the tick: as the
    /// last part of a transaction, which is then committed. Writes nothing where nothing is due.
    ///
    /// Where more are due than a transaction may have, in records or in age, they are sent in slices, with events in
    /// between (ADR 31).
    mutating func tick() throws {
        guard let schedule = context.configuration.orders.schedule else { return }
        if ticks.isLookDue(schedule.tick), try isClockRight() {
            let now = context.clock.now()
            try ask(
                assignment.positions.orders.owned.filter {
                    ticks.pending[$0] == nil && canFire($0) && core.orders.isDue(in: $0, at: now)
                },
                at: now)
        }
        guard !ticks.pending.isEmpty, !ticks.yieldsToEvents else { return }
        let now = context.clock.now()
        let stale = reachedTicks.filter { ticks.isStale($0, now: now, tick: schedule.tick) }
        if !stale.isEmpty { try ask(stale, at: now) }
        let reached = reachedTicks
        guard let newest = reached.compactMap({ ticks.pending[$0]?.time }).max() else { return }
        if transaction.mustCommit(beforeTimersAt: newest, isFull: { isFull($0) }) { try commit() }
        try begin()
        try transaction.takesTimers()
        for partition in reached {
            let isAlone = transaction.outlasts.isAlone(timerOf: partition)
            if isAlone, core.counts.timers > 0 { break }
            let timers = isAlone ? 1 : transaction.isolation.tickLimit
            try fire(partition, maxTimers: timers ?? .max)
            // Timers that are isolated are of one partition.
            if timers != nil { break }
            if let open = transaction.open, isFull(open) { break }
        }
        try commitTick()
        ticks.yieldsToEvents = !ticks.pending.isEmpty
    }

    private var reachedTicks: [Int32] {
        ticks.reached { partition in canFire(partition) ? assignment.positions.orders[partition]?.reached : nil }
    }

    private func canFire(_ partition: Int32) -> Bool { assignment.positions.orders[partition]?.isFolding == false }

    /// Whether the transaction has reached one of its limits: nothing more is begun in it.
    func isFull(_ open: OpenTransaction) -> Bool {
        core.written >= transaction.outlasts.records(most: context.configuration.commitMaxRecords)
            || open.isOld(context.configuration)
    }

    /// Queries the ends of partitions where a timer is due.
    private mutating func ask(_ partitions: [Int32], at time: WallTime) throws {
        guard !partitions.isEmpty else { return }
        let topic = context.configuration.topics.events
        do {
            for (id, end) in try consumer.endOffsets(partitions.of(topic), timeout: .seconds(2)) {
                let questions = ticks.pending[id.partition]?.questions ?? 0
                ticks.pending[id.partition] = .init(time: time, end: end.value, questions: questions + 1)
            }
        } catch {
            if error.isFatal { throw error }
            // At the next tick.
            if let line = try context.host.consider(error) {
                logger.warning("timers wait, the end of their partition is not known: \(line)")
            }
        }
    }

    /// Sends a slice of a partition's timers.
    private mutating func fire(_ partition: Int32, maxTimers: Int) throws {
        guard let pending = ticks.pending[partition], let position = assignment.positions.orders[partition],
            let open = transaction.open
        else { return }
        let configuration = context.configuration
        let isolation = transaction.isolation
        let letter: DeadLetter? =
            if transaction.outlasts.isCondemned(timerOf: partition) {
                .timerOutlasts(configuration.transactionTimeout)
            } else if isolation.tickTreatment.isDeadLetter {
                .timerRefused(isolation.lastError ?? "")
            } else {
                nil
            }
        let limit = transaction.outlasts.records(most: configuration.commitMaxRecords)
        try transaction.takesTimers(of: partition)
        output.source = .orders
        let watermark = try core.fire(
            Tick(partition: partition, time: pending.time, clock: open.clock, offset: position.next),
            TickSlice(maxTimers: maxTimers, maxRecords: limit) {
                open.isOld(configuration)
            },
            replacingPushes: letter, into: &output)
        assignment.positions.orders.fire(partition: partition, upTo: watermark, tick: pending.time)
        ticks.fired(partition, upTo: watermark)
        try context.reach(.afterTick, worker: slot.number)
    }
}
