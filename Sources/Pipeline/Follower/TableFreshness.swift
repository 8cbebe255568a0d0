/// How old the subscriptions table is: whether fan-out may go on from it (design §6, "subscription change"), and whether
/// it may have missed unsubscriptions for ever (kafka-rules 18).
///
/// What counts is when the ends were asked for, not when the table was compared with them: ends that nobody answers for
/// any more say nothing about now.
struct TableFreshness {
    private let maxLag: Duration
    private let largestAge: Duration
    /// The table holds everything that the topic had then; while it is read from the beginning, when that began.
    private(set) var asOf: ContinuousClock.Instant
    private var asked: ContinuousClock.Instant?
    /// When the question was asked that has the latest answer.
    private var answered: ContinuousClock.Instant?

    /// - Parameters:
    ///   - largestAge: the topic may have dropped tombstones that are older.
    ///   - asOf: of the stored table.
    init(maxLag: Duration, largestAge: Duration, asOf: ContinuousClock.Instant) {
        self.maxLag = maxLag
        self.largestAge = largestAge
        self.asOf = asOf
    }

    /// Whether it is time to ask for the ends again: once a second, and often enough for a short `maxLag`.
    func isQueryDue(now: ContinuousClock.Instant = .now) -> Bool {
        asked.map { now - $0 >= min(.seconds(1), maxLag / 4) } ?? true
    }

    /// Takes a look-up of the ends: when it was sent, and whether there was an answer.
    mutating func asked(at time: ContinuousClock.Instant, isAnswered: Bool) {
        asked = time
        if isAnswered { answered = time }
    }

    /// Whether the latest question was answered.
    var isAnswered: Bool { asked != nil && asked == answered }

    /// Everything up to the ends of the latest answer has been read.
    ///
    /// - Parameter now: after the reading. A reading that ends when the table is too old makes it no younger: the
    ///   tombstones may have gone before it came to them, as in a process that stood still.
    /// - Returns: whether the table is as young as that answer now.
    mutating func reachedEnd(now: ContinuousClock.Instant = .now) -> Bool {
        guard let answered, !isTooOld(now: now) else { return false }
        asOf = max(asOf, answered)
        return true
    }

    /// The table was emptied, to be read from offsets that were asked for then.
    mutating func restarted(at time: ContinuousClock.Instant) {
        asOf = time
        asked = nil
        answered = nil
    }

    func age(now: ContinuousClock.Instant = .now) -> Duration { now - asOf }

    /// Whether it may have missed unsubscriptions, and must be read from the topic's beginning.
    func isTooOld(now: ContinuousClock.Instant = .now) -> Bool { age(now: now) > largestAge }

    /// From then on fan-out must pause.
    var staleFrom: ContinuousClock.Instant { asOf + min(maxLag, largestAge) }
}
