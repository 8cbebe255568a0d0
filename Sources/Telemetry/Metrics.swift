import Synchronization

/// The registry of a process's metrics, by name and labels.
///
/// Registering the same name and labels again returns the same metric, so that several workers add to one counter.
/// Registering takes a lock and allocates; recording does neither. Names and labels follow Prometheus: a counter's name
/// ends in `_total`, a unit is part of the name (`_seconds`, `_bytes`), and a label has few values.
public final class Metrics: Sendable {
    /// Label names and values, in a fixed order.
    public typealias Labels = KeyValuePairs<String, String>

    private let families = Mutex<[String: Family]>([:])
    /// By name and labels.
    private let observed = Mutex<[String: [String: Observed]]>([:])

    public init() {}

    /// A count that only grows.
    public func counter(_ name: String, help: String, labels: Labels = [:]) -> Counter {
        let made = metric(name, help, labels) { .counter(Counter()) }
        return if case .counter(let counter) = made { counter } else { Counter() }
    }

    /// A value that goes up and down.
    public func gauge(_ name: String, help: String, labels: Labels = [:]) -> Gauge {
        let made = metric(name, help, labels) { .gauge(Gauge()) }
        return if case .gauge(let gauge) = made { gauge } else { Gauge() }
    }

    /// Counts of values by upper bound.
    /// - Parameter bounds: upper bounds, inclusive and ascending; one for everything above is added.
    public func histogram(_ name: String, help: String, labels: Labels = [:], bounds: [Double]) -> Histogram {
        let made = metric(name, help, labels) { .histogram(Histogram(bounds: bounds)) }
        return if case .histogram(let histogram) = made { histogram } else { Histogram(bounds: bounds) }
    }

    /// Series that are read when a snapshot is taken, so that they may come and go. No other kind of metric may have the
    /// name; registering it again with the same labels replaces the series.
    /// - Parameters:
    ///   - labels: which all the series have, before their own.
    ///   - read: called by whoever takes a snapshot, on any thread. Series differ in their labels.
    public func observe(
        _ name: String, help: String, labels: Labels = [:], _ read: @escaping @Sendable () -> [MetricsSnapshot.Series]
    ) {
        let labels = Self.pairs(labels)
        observed.withLock {
            $0[name, default: [:]][Self.identity(labels)] = Observed(help: help, labels: labels, read: read)
        }
    }

    /// The current values, ordered by name and then by labels. Each value is read atomically, the snapshot as a whole
    /// is not.
    public func snapshot() -> MetricsSnapshot {
        let recorded = families.withLock { $0 }.map { name, family in
            MetricsSnapshot.Family(
                name: name, help: family.help,
                series: family.series.sorted { $0.key < $1.key }.map { _, series in
                    MetricsSnapshot.Series(labels: series.labels, value: series.metric.value)
                })
        }
        // Outside the lock: `read` may take locks of its own.
        let observed = self.observed.withLock { $0 }.map { name, parts in
            MetricsSnapshot.Family(
                name: name, help: parts.values.first?.help ?? "",
                series: parts.sorted { $0.key < $1.key }.flatMap { _, part in
                    part.read().map { MetricsSnapshot.Series(labels: part.labels + $0.labels, value: $0.value) }
                })
        }
        return MetricsSnapshot(families: (recorded + observed).sorted { $0.name < $1.name })
    }

    /// The metric with this name and these labels, created if it is new; nil if the name belongs to another kind of
    /// metric. The caller then records into a metric that nobody reads, which a test of the snapshot shows.
    private func metric(_ name: String, _ help: String, _ labels: Labels, make: () -> Metric) -> Metric? {
        let pairs = Self.pairs(labels)
        let identity = Self.identity(pairs)
        return families.withLock { families in
            if let existing = families[name]?.series[identity] { return existing.metric }
            let metric = make()
            guard families[name].map({ $0.kind == metric.kind }) ?? true else { return nil }
            families[name, default: Family(help: help, kind: metric.kind)]
                .series[identity] = LabelledMetric(labels: pairs, metric: metric)
            return metric
        }
    }

    private static func pairs(_ labels: Labels) -> [MetricsSnapshot.Label] {
        labels.map { MetricsSnapshot.Label($0.key, $0.value) }
    }

    private static func identity(_ pairs: [MetricsSnapshot.Label]) -> String {
        pairs.flatMap { [$0.name, $0.value] }.joined(separator: "\u{0}")
    }

    private struct Family {
        var help: String
        var kind: Metric.Kind
        var series: [String: LabelledMetric] = [:]
    }

    private struct Observed {
        var help: String
        var labels: [MetricsSnapshot.Label]
        var read: @Sendable () -> [MetricsSnapshot.Series]
    }

    private struct LabelledMetric {
        var labels: [MetricsSnapshot.Label]
        var metric: Metric
    }

    private enum Metric {
        enum Kind { case counter, gauge, histogram }
        case counter(Counter)
        case gauge(Gauge)
        case histogram(Histogram)

        var kind: Kind {
            switch self {
            case .counter: .counter
            case .gauge: .gauge
            case .histogram: .histogram
            }
        }

        var value: MetricsSnapshot.Value {
            switch self {
            case .counter(let counter): .counter(Double(counter.value))
            case .gauge(let gauge): .gauge(gauge.value)
            case .histogram(let histogram): .histogram(histogram.value)
            }
        }
    }
}
