/// Counts durations in milliseconds: exactly below 64 ms, then 32 steps for each doubling, so that a quantile is at
/// most 1/32 too large. At most 1,200 counters, however many durations.
package struct DeliveryHistogram: Equatable, Sendable {
    private static let exact: Int64 = 64
    /// About 35 years.
    private static let longest: Int64 = 1 << 40

    private var counts: [Int: Int] = [:]
    package private(set) var count = 0

    /// A duration below zero, which a clock that was set back gives, counts as zero.
    package mutating func note(_ milliseconds: Int64) {
        counts[Self.step(min(max(milliseconds, 0), Self.longest)), default: 0] += 1
        count += 1
    }

    /// The duration that this fraction of all does not exceed; nil if there is none.
    package func quantile(_ fraction: Double) -> Int64? {
        guard count > 0 else { return nil }
        let wanted = max(1, Int((fraction * Double(count)).rounded(.up)))
        var seen = 0
        for (step, number) in counts.sorted(by: { $0.key < $1.key }) {
            seen += number
            if seen >= wanted { return Self.longest(of: step) }
        }
        return nil
    }

    private static func step(_ milliseconds: Int64) -> Int {
        guard milliseconds >= exact else { return Int(milliseconds) }
        let doubling = 63 - milliseconds.leadingZeroBitCount
        return (doubling - 4) * 32 + Int(milliseconds >> Int64(doubling - 5)) - 32
    }

    /// The longest duration that is counted there.
    private static func longest(of step: Int) -> Int64 {
        guard step >= exact else { return Int64(step) }
        let (doubling, part) = (step / 32 + 4, step % 32)
        return Int64(32 + part + 1) << Int64(doubling - 5) - 1
    }
}
