/// Since when the subscriptions table is not known to have stood at its topic's end (design §6, "subscription change").
///
/// What counts is when the ends were asked for, not when the table was compared with them: ends that nobody answers for
/// any more say nothing about now.
struct TableFreshness {
    private let maxLag: Duration
    private var stoodAtEnd: ContinuousClock.Instant
    private var asked: ContinuousClock.Instant?
    /// When the question was asked that has the latest answer.
    private var answered: ContinuousClock.Instant?

    init(maxLag: Duration, now: ContinuousClock.Instant = .now) {
        self.maxLag = maxLag
        stoodAtEnd = now
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

    /// The table holds everything up to the ends of the latest answer.
    mutating func reachedEnd() {
        if let answered { stoodAtEnd = max(stoodAtEnd, answered) }
    }

    /// From then on fan-out must pause.
    var staleFrom: ContinuousClock.Instant { stoodAtEnd + maxLag }
}
