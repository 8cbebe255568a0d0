/// How old the subscriptions table is: whether fan-out may use it (docs/code.md §6, "subscription change"), and
/// whether it may have missed unsubscriptions permanently (docs/kafka.md 18).
///
/// The age counts from when the ends were queried, not from when the table reached them: ends of an earlier answer say
/// nothing about now.
struct TableFreshness {
    private let maxLag: Duration
    private let largestAge: Duration
    /// The table holds everything that the topic had at this time; while it is rebuilt, when the rebuild began.
    private(set) var asOf: ContinuousClock.Instant
    private var asked: ContinuousClock.Instant?
    /// When the latest query that was answered was sent.
    private var answered: ContinuousClock.Instant?

    /// - Parameters:
    ///   - largestAge: the topic may have dropped tombstones that are older.
    ///   - asOf: of the stored table.
    init(maxLag: Duration, largestAge: Duration, asOf: ContinuousClock.Instant) {
        self.maxLag = maxLag
        self.largestAge = largestAge
        self.asOf = asOf
    }

    /// Whether it is time to query the ends again: once a second, and often enough for a short `maxLag`.
    func isQueryDue(now: ContinuousClock.Instant) -> Bool {
        asked.map { now - $0 >= min(.seconds(1), maxLag / 4) } ?? true
    }

    /// Notes a query of the ends: when it was sent, and whether it was answered.
    mutating func asked(at time: ContinuousClock.Instant, isAnswered: Bool) {
        asked = time
        if isAnswered { answered = time }
    }

    /// Whether the latest query was answered.
    var isAnswered: Bool { asked != nil && asked == answered }

    /// Everything up to the ends of the latest answer has been read.
    ///
    /// - Parameter now: the time after reading. If the table is too old by then, it stays so: tombstones may have been
    ///   removed before they were read, as when the process was suspended.
    /// - Returns: whether the table is as fresh as that answer now.
    mutating func reachedEnd(now: ContinuousClock.Instant) -> Bool {
        guard let answered, !isTooOld(now: now) else { return false }
        asOf = max(asOf, answered)
        return true
    }

    /// The table was emptied, to be read from offsets that were queried at this time.
    mutating func restarted(at time: ContinuousClock.Instant) {
        asOf = time
        asked = nil
        answered = nil
    }

    func age(now: ContinuousClock.Instant) -> Duration { now - asOf }

    /// Whether it may have missed unsubscriptions, and must be read from the topic's beginning.
    func isTooOld(now: ContinuousClock.Instant) -> Bool { age(now: now) > largestAge }

    /// From this moment on fan-out must pause.
    var staleFrom: ContinuousClock.Instant { asOf + min(maxLag, largestAge) }
}
