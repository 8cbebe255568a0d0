import Time

/// A pause that a probe ends: one request at a time, at growing intervals.
package struct ProbedPause: Sendable {
    /// In milliseconds, from the first interval to the last; doubled each time.
    private let intervals: ClosedRange<Int64>
    private var interval: Int64
    private var nextProbe: WallTime
    /// Whether a probe is under way.
    package private(set) var isProbing = false
    package let reason: String
    package let since: WallTime

    package init(reason: String, intervals: ClosedRange<Int64>, now: WallTime) {
        self.reason = reason
        self.intervals = intervals
        interval = intervals.lowerBound
        since = now
        nextProbe = now + intervals.lowerBound
    }

    /// Of a lane whose provider fails.
    package static func lane(now: WallTime) -> ProbedPause {
        ProbedPause(reason: "provider_fails", intervals: 10_000...60_000, now: now)
    }

    /// Of a credential that the provider does not accept: from a minute to a quarter of an hour.
    package static func credential(_ reason: String, now: WallTime) -> ProbedPause {
        ProbedPause(reason: reason, intervals: 60_000...900_000, now: now)
    }

    /// When the next probe is due; nil while one is under way.
    package var probeAt: WallTime? { isProbing ? nil : nextProbe }

    /// Whether to send a probe now; true at most once until ``failed(now:)``.
    package mutating func beginProbe(now: WallTime) -> Bool {
        guard !isProbing, now >= nextProbe else { return false }
        isProbing = true
        return true
    }

    /// The probe showed nothing: it did not reach the provider, or was withdrawn. The next one is due after the same
    /// interval.
    package mutating func withdraw(now: WallTime) {
        guard isProbing else { return }
        isProbing = false
        nextProbe = now + interval
    }

    /// The probe showed that the reason is still there.
    package mutating func failed(now: WallTime) {
        guard isProbing else { return }
        isProbing = false
        interval = min(interval * 2, intervals.upperBound)
        nextProbe = now + interval
    }
}
