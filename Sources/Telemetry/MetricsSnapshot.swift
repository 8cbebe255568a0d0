/// The values of all metrics at one moment.
public struct MetricsSnapshot: Sendable, Equatable {
    public var families: [Family]

    /// The series of one name; they differ in their labels.
    public struct Family: Sendable, Equatable {
        public var name: String
        public var help: String
        public var series: [Series]
    }

    public struct Series: Sendable, Equatable {
        public var labels: [Label]
        public var value: Value

        public init(labels: [Label] = [], value: Value) {
            self.labels = labels
            self.value = value
        }
    }

    public struct Label: Sendable, Equatable {
        public var name: String
        public var value: String

        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    public enum Value: Sendable, Equatable {
        case counter(Double)
        case gauge(Double)
        case histogram(HistogramValue)
    }

    public struct HistogramValue: Sendable, Equatable {
        /// Upper bounds, inclusive.
        public var bounds: [Double]
        /// Not cumulative: one for each bound, and one for what is above them all.
        public var counts: [UInt64]
        public var sum: Double
    }

    /// The value with exactly these labels, in any order; nil where there is none.
    public func value(_ name: String, labels: Metrics.Labels = [:]) -> Value? {
        let wanted = labels.map { Label($0.key, $0.value) }
        return families.first { $0.name == name }?.series.first { series in
            series.labels.count == wanted.count && wanted.allSatisfy(series.labels.contains)
        }?.value
    }
}
