import KafkaClient

/// The transaction that a worker has open.
struct OpenTransaction: Equatable {
    /// The events of a batch that have a timestamp.
    struct Batch: Equatable {
        /// Their oldest timestamp.
        var oldest: WallTime
        var events: Int
    }

    let began: ContinuousClock.Instant
    /// When it began: what the journal calls its clock.
    let clock: WallTime
    var events = 0
    var batches: [Batch] = []
    /// Whether nothing waited to be read at some moment since it began: whatever waits now is younger than it.
    var hasCaughtUp = false
    /// The only event of a transaction that isolates one.
    var alone: EventCoordinates?
    var aloneIsDeadLetter = false
    /// Whether it has timers, and how many it may have at most; nil: as many as fit.
    var hasTick = false
    var tickLimit: Int?
    /// The partition of its latest timers.
    var timersOf: Int32?

    func remaining(of interval: Duration) -> Duration {
        max(.zero, interval - (.now - began))
    }

    /// Whether it is so old that nothing more is begun in it. The limit holds for every transaction, so that the broker
    /// never has to abort one (`transaction.timeout`).
    func isOld(_ configuration: PipelineConfiguration, now: ContinuousClock.Instant = .now) -> Bool {
        now - began >= configuration.commitIntervalBehind
    }

    /// Whether it is to be committed. A worker that is behind, because what waits has waited since before the transaction
    /// began, lets it grow older: the broker's cost is per transaction, not per event, and latency matters little in a
    /// backlog.
    func isDue(_ configuration: PipelineConfiguration, now: ContinuousClock.Instant = .now) -> Bool {
        if events >= configuration.commitMaxEvents { return true }
        guard now - began >= configuration.commitInterval else { return false }
        return hasCaughtUp || isOld(configuration, now: now)
    }
}

/// How often a worker was fenced without another process taking its slot: its own transaction had timed out, or its own
/// second attempt to join, after the broker had been unreachable, fenced the first one.
package struct Fencings {
    private var times: [ContinuousClock.Instant] = []
    private var contactLost: ContinuousClock.Instant?
    /// The transaction that the latest error was about had outlasted its timeout, for which the broker fences by itself.
    var isOwnTimeout = false

    package init() {}

    /// The broker could not be reached, or took the partitions away.
    mutating func noteLostContact(now: ContinuousClock.Instant = .now) {
        contactLost = now
    }

    /// Takes an error of either client: one caused by a missing answer means that contact was lost. The producer's
    /// errors count as well, since a worker in a long call sees its consumer's only afterwards.
    mutating func consider(_ error: KafkaError, now: ContinuousClock.Instant = .now) {
        if [.allBrokersDown, .transport, .timedOut].contains(error.kind) { noteLostContact(now: now) }
    }

    /// Whether contact was lost within the last minute and has not explained a fencing yet: a static member that joins
    /// again, while the broker still has its first attempt, gets the same fatal error as one whose slot was taken.
    func mayBeOwnDoing(now: ContinuousClock.Instant = .now) -> Bool {
        contactLost.map { now - $0 < .seconds(60) } ?? false
    }

    /// The consumer was recreated. If it is fenced again without another loss of contact, another process has its slot.
    mutating func noteNewConsumer() {
        contactLost = nil
    }

    enum Verdict: Equatable {
        /// Its own transaction had timed out, or may have.
        case newProducer
        /// Another process has its slot, says this error.
        case slotTaken(KafkaError)
        /// No other process has its slot, and it was fenced for the third time in 10 minutes.
        case tooOften
    }

    /// The producer was fenced (docs/code.md §6, "Slots").
    ///
    /// - Parameters:
    ///   - consumer: the fatal error of the consumer, which a static member gets where its slot was taken.
    ///   - isStatic: without static membership the two cannot be distinguished.
    mutating func judge(
        _ error: KafkaError, consumer: KafkaError?, isStatic: Bool, now: ContinuousClock.Instant = .now
    ) -> Verdict {
        if isStatic, let consumer, consumer.kind == .fencedInstanceID, !mayBeOwnDoing(now: now) {
            return .slotTaken(consumer)
        }
        if isOwnTimeout { return .newProducer }
        guard isTooMany(now: now) else { return .newProducer }
        return isStatic ? .tooOften : .slotTaken(error)
    }

    /// Counts a fencing of the producer, and returns whether it is the third in 10 minutes.
    package mutating func isTooMany(now: ContinuousClock.Instant = .now) -> Bool {
        times = times.filter { now - $0 < .seconds(600) } + [now]
        return times.count >= 3
    }
}
