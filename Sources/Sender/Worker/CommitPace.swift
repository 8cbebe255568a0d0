import Time

/// How often a lane commits: each `delivery.commit-interval`, and four times as seldom while it is behind, which it is where
/// all that it found in a topic since the last commit had waited for longer than that. A commit holds up the lane; and an
/// outcome that comes late anyway may come a little later (docs/adr/0019-commit-less-often-when-behind.md).
struct CommitPace {
    private let interval: Duration
    private let intervalBehind: Duration
    private let topics: Set<PushKind>
    private var last: ContinuousClock.Instant
    /// The topics that had nothing to read, or something new, at some moment since the last commit.
    private var caughtUp: Set<PushKind> = []

    /// - Parameter topics: whose dispatch topics are read.
    init(_ interval: Duration, topics: Set<PushKind>, now: ContinuousClock.Instant) {
        self.interval = interval
        last = now
        self.intervalBehind = interval * 4
        self.topics = topics
    }

    /// A dispatch topic has been looked at.
    ///
    /// - Parameter appendedAt: when the first record was appended that was found there; nil: there was none.
    mutating func found(_ appendedAt: WallTime?, in topic: PushKind, now: WallTime) {
        if appendedAt.map({ .milliseconds(now - $0) < intervalBehind }) ?? true { caughtUp.insert(topic) }
    }

    func isDue(now: ContinuousClock.Instant) -> Bool {
        now >= last + (caughtUp == topics ? interval : intervalBehind)
    }

    /// A transaction is written now.
    mutating func commits(now: ContinuousClock.Instant) {
        last = now
        caughtUp.removeAll(keepingCapacity: true)
    }
}
