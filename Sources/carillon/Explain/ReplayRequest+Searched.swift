import Replay

extension ReplayRequest {
    /// What of the topics of events and requests was searched, for a person: `the whole of orders.events (1,234 offsets)`.
    func searched(_ selected: [SourcePartition: Range<Int64>], of topics: PipelineConfiguration.Topics) -> String {
        let sources = topics.sources.filter { self.sources?.contains($0) ?? true }
        return sources.map { source in
            let count = selected.filter { $0.key.source == source }.reduce(0) { $0 + $1.value.count }
            let offsets = count == 1 ? "1 offset" : "\(ProgressLine.grouped(count)) offsets"
            return "\(extent)\(topics.topic(of: source))\(limits) (\(offsets))"
        }.joined(separator: " and ")
    }

    private var extent: String {
        from == nil && to == nil && offsets == nil && partitions == nil ? "the whole of " : ""
    }

    private var limits: String {
        var limits = ""
        if let partitions {
            limits += "/" + partitions.sorted().map(String.init).joined(separator: ",")
        }
        if let offsets {
            limits += " from offset \(offsets.lowerBound)"
            if offsets.upperBound < .max { limits += " to \(offsets.upperBound - 1)" }
        }
        if let from { limits += " from \(from.iso8601)" }
        if let to { limits += " to \(to.iso8601)" }
        return limits
    }
}
