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
