extension MetricsSnapshot {
    /// The Prometheus text exposition format, version 0.0.4: content type `text/plain; version=0.0.4`.
    public func prometheusText() -> String {
        var text = ""
        for family in families where !family.series.isEmpty {
            text += "# HELP \(family.name) \(family.help.escapedForHelp)\n"
            text += "# TYPE \(family.name) \(family.type)\n"
            for series in family.series {
                switch series.value {
                case .counter(let value), .gauge(let value):
                    text += line(family.name, series.labels, value.prometheusText)
                case .histogram(let histogram): text += lines(family.name, series.labels, histogram)
                }
            }
        }
        return text
    }

    private func line(_ name: String, _ labels: [Label], _ value: String) -> String {
        guard !labels.isEmpty else { return "\(name) \(value)\n" }
        let pairs = labels.map { "\($0.name)=\"\($0.value.escapedForLabel)\"" }
        return "\(name){\(pairs.joined(separator: ","))} \(value)\n"
    }

    private func lines(_ name: String, _ labels: [Label], _ histogram: HistogramValue) -> String {
        var text = ""
        var cumulative: UInt64 = 0
        for (bound, count) in zip(histogram.bounds + [.infinity], histogram.counts) {
            cumulative += count
            let bound = Label("le", bound.prometheusText)
            text += line(name + "_bucket", labels + [bound], "\(cumulative)")
        }
        text += line(name + "_sum", labels, histogram.sum.prometheusText)
        return text + line(name + "_count", labels, "\(cumulative)")
    }
}

extension MetricsSnapshot.Family {
    fileprivate var type: String {
        switch series.first?.value {
        case .counter: "counter"
        case .gauge: "gauge"
        case .histogram: "histogram"
        case nil: "untyped"
        }
    }
}

extension Double {
    fileprivate var prometheusText: String {
        if isNaN { return "NaN" }
        if isInfinite { return self > 0 ? "+Inf" : "-Inf" }
        if self == rounded(), abs(self) < 1e15 { return "\(Int64(self))" }
        return "\(self)"
    }
}

extension String {
    fileprivate var escapedForHelp: String { escaped(quotes: false) }
    fileprivate var escapedForLabel: String { escaped(quotes: true) }

    private func escaped(quotes: Bool) -> String {
        unicodeScalars.reduce(into: "") { text, scalar in
            switch scalar {
            case "\\": text += #"\\"#
            case "\n": text += #"\n"#
            case "\"" where quotes: text += #"\""#
            default: text.unicodeScalars.append(scalar)
            }
        }
    }
}
