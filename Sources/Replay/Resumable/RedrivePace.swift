/// How fast records go: never more than `rate` in any second, seen from the start. Time is an argument.
package struct RedrivePace: Sendable {
    /// More is not sent in one transaction.
    private static let mostRecords = 5_000

    private let rate: Int
    private var free: ContinuousClock.Instant

    /// - Parameter rate: records a second, at least 1.
    package init(rate: Int, now: ContinuousClock.Instant) {
        self.rate = max(1, rate)
        free = now
    }

    /// The records of one transaction: those of a second.
    package var recordsAtOnce: Int { min(rate, Self.mostRecords) }

    /// When the next transaction may begin, after one that began now.
    package mutating func next(after records: Int, now: ContinuousClock.Instant) -> ContinuousClock.Instant {
        free = max(free, now) + .seconds(Double(records) / Double(rate))
        return free
    }
}
