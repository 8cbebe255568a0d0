import Synchronization

/// Counts values by upper bound, and adds them up. Any thread may record; nothing is allocated.
public final class Histogram: Sendable {
    /// Upper bounds for durations in seconds, 1 ms to 30 s.
    public static let durationBounds: [Double] = [
        0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30,
    ]

    /// Upper bounds, inclusive and ascending.
    public let bounds: [Double]
    /// One for each bound, and one for what is above them all. Their number never changes.
    private let counts: [Counter]
    private let sum = Gauge()

    /// A histogram of its own, in no registry.
    public init(bounds: [Double]) {
        self.bounds = bounds.sorted()
        counts = (0...bounds.count).map { _ in Counter() }
    }

    /// Records a value `times` times.
    public func record(_ value: Double, times: Int = 1) {
        guard value.isFinite, times > 0 else { return }
        var index = 0
        while index < bounds.count, value > bounds[index] { index += 1 }
        counts[index].add(times)
        sum.add(value * Double(times))
    }

    /// Records seconds.
    public func record(_ duration: Duration, times: Int = 1) {
        record(duration / .seconds(1), times: times)
    }

    var value: MetricsSnapshot.HistogramValue {
        MetricsSnapshot.HistogramValue(bounds: bounds, counts: counts.map(\.value), sum: sum.value)
    }
}
