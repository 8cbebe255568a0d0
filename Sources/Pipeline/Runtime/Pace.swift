/// A rate of sending. Time is an argument.
package struct Pace: Sendable {
    /// In records; 0: no limit.
    package let perSecond: Int
    /// When the rate has made up for all that was sent.
    private var free: ContinuousClock.Instant

    package init(perSecond: Int, now: ContinuousClock.Instant = .now) {
        self.perSecond = perSecond
        free = now
    }

    /// Counts records that are sent now.
    ///
    /// - Returns: when the next ones may be sent, if nothing is saved up. A pause is not made up for by a higher rate.
    @discardableResult
    package mutating func take(_ count: Int, now: ContinuousClock.Instant = .now) -> ContinuousClock.Instant {
        guard perSecond > 0 else { return now }
        free = max(free, now) + .seconds(Double(count) / Double(perSecond))
        return free
    }

    /// The number of records that may be sent now if those of a tenth of a second are saved up; `Int.max` without a
    /// limit, below 0 after more were sent.
    package func budget(now: ContinuousClock.Instant = .now) -> Int {
        guard perSecond > 0 else { return .max }
        let rate = Double(perSecond)
        return Int(max(1, rate / 10) - rate * (max(.zero, free - now) / .seconds(1)))
    }
}
