import Extraction
import KafkaClient
import Telemetry

/// The ticks that wait for their partition's end: a tick never overtakes the log.
struct PendingTicks {
    struct Pending {
        /// T: what is due at or before it goes.
        var time: Int64
        /// The last stable offset, asked at T.
        var end: Int64
        var questions: Int
    }

    var pending: [Int32: Pending] = [:]
    private var lookedAt: ContinuousClock.Instant?

    /// A partition that took this many questions to reach its end is not asked again: it may never stand at it.
    static let mostQuestions = 3

    /// Whether it is time to look at the timers; said once a tick.
    mutating func isLookDue(_ tick: Duration, now: ContinuousClock.Instant = .now) -> Bool {
        if let lookedAt, now - lookedAt < tick { return false }
        lookedAt = now
        return true
    }

    /// Whether the end has been reached.
    func isReached(_ partition: Int32, reached: Int64) -> Bool {
        pending[partition].map { reached >= $0.end } ?? false
    }

    /// Whether a reached end is so old that it is asked for again: after a backlog there is one tick, at its end, and not
    /// one with the time at which it began and another.
    func isStale(_ partition: Int32, now: Int64, tick: Duration) -> Bool {
        guard let found = pending[partition], found.questions < Self.mostQuestions else { return false }
        return now - found.time > 2 * max(tick.wholeMilliseconds, 1_000)
    }

    mutating func removeAll() {
        pending.removeAll()
    }
}

extension Worker {
    /// Looks at the timers once a tick, and lets those go whose partition has been read to its end as of the tick: as the
    /// last thing of the transaction, which is then committed. Writes nothing where nothing is due.
    mutating func tick() throws {
        guard let schedule = context.configuration.orders.schedule else { return }
        if ticks.isLookDue(schedule.tick) {
            let now = context.clock.now()
            try ask(
                positions.owned.filter { ticks.pending[$0] == nil && canFire($0) && core.isDue(in: $0, at: now) },
                at: now)
        }
        guard !ticks.pending.isEmpty else { return }
        let now = context.clock.now()
        var reached = ticks.pending.keys.filter { partition in
            canFire(partition) && ticks.isReached(partition, reached: positions[partition]?.reached ?? 0)
        }.sorted()
        let stale = reached.filter { ticks.isStale($0, now: now, tick: schedule.tick) }
        if !stale.isEmpty {
            try ask(stale, at: now)
            reached = reached.filter { ticks.isReached($0, reached: positions[$0]?.reached ?? 0) }
        }
        guard !reached.isEmpty else { return }
        let isAlone = isolation.isolatesTicks
        if isAlone { try commit() }
        for partition in reached {
            try begin()
            transaction?.useClock(now)
            transaction?.hasTick = true
            transaction?.isTickAlone = isAlone
            try fire(partition, isAlone: isAlone)
            if isAlone { try commit() }
        }
        try commit()
    }

    private func canFire(_ partition: Int32) -> Bool { positions[partition]?.isFolding == false }

    /// Asks for the ends of partitions where a timer is due.
    private mutating func ask(_ partitions: [Int32], at time: Int64) throws {
        guard !partitions.isEmpty else { return }
        let topic = context.configuration.topics.events
        do {
            let ids = partitions.map { TopicPartition(topic: topic, partition: $0) }
            for (id, end) in try consumer.endOffsets(ids, timeout: .seconds(2)) {
                let questions = ticks.pending[id.partition]?.questions ?? 0
                ticks.pending[id.partition] = .init(time: time, end: end.value, questions: questions + 1)
            }
        } catch {
            if error.isFatal { throw error }
            // At the next tick.
            if let line = try context.consider(error) {
                logger.warning("timers wait, the end of their partition is not known: \(line)")
            }
        }
    }

    private mutating func fire(_ partition: Int32, isAlone: Bool) throws {
        guard let pending = ticks.pending[partition], let position = positions[partition] else { return }
        let tick = Tick(
            partition: partition, time: pending.time, clock: transaction?.clock ?? pending.time, offset: position.next)
        let refused = DeadLetter(
            .recordRefused, "the broker refuses what this timer gives: \(isolation.lastError ?? "")")
        let watermark = try core.fire(
            tick, limit: isAlone ? 1 : context.configuration.commitMaxEvents,
            condemning: isolation.tickTreatment == .deadLetter ? refused : nil, into: &output)
        positions.fire(partition: partition, upTo: watermark)
        // Where more are due than a transaction may have, the rest goes in the next one.
        if watermark >= pending.time || watermark == position.watermark { ticks.pending[partition] = nil }
        try context.reach(.afterTick, worker: slot.number)
    }
}
