/// The rate of sending: never more than `rate` records in any second, measured from the start. Time is an argument.
package struct RedrivePace: Sendable {
    /// The most records in one transaction.
    private static let mostRecords = 5_000

    private let rate: Int
    private var free: ContinuousClock.Instant

    /// - Parameter rate: records per second, at least 1.
    package init(rate: Int, now: ContinuousClock.Instant) {
        self.rate = max(1, rate)
        free = now
    }

    /// The number of records in one transaction: one second's worth.
    package var recordsAtOnce: Int { min(rate, Self.mostRecords) }

    /// When the next transaction may begin, if one begins now.
    package mutating func next(after records: Int, now: ContinuousClock.Instant) -> ContinuousClock.Instant {
        free = max(free, now) + .seconds(Double(records) / Double(rate))
        return free
    }
}
