import Replay

/// What of the topics of events and requests was searched, for a person.
struct SearchedRange {
    private let request: ReplayRequest
    private let selected: [SourcePartition: Range<Int64>]
    private let topics: PipelineConfiguration.Topics

    init(
        _ request: ReplayRequest, _ selected: [SourcePartition: Range<Int64>], _ topics: PipelineConfiguration.Topics
    ) {
        self.request = request
        self.selected = selected
        self.topics = topics
    }

    /// `the whole of orders.events (1,234 offsets)`.
    var text: String {
        let sources = topics.sources.filter { request.sources?.contains($0) ?? true }
        return sources.map { source in
            let count = selected.filter { $0.key.source == source }.reduce(0) { $0 + $1.value.count }
            let offsets = count == 1 ? "1 offset" : "\(ProgressLine.grouped(count)) offsets"
            return "\(extent)\(topics.topic(of: source))\(limits) (\(offsets))"
        }.joined(separator: " and ")
    }

    private var isWhole: Bool {
        request.from == nil && request.to == nil && request.offsets == nil && request.partitions == nil
    }

    private var extent: String { isWhole ? "the whole of " : "" }

    private var limits: String {
        var limits = ""
        if let partitions = request.partitions {
            limits += "/" + partitions.sorted().map(String.init).joined(separator: ",")
        }
        if let offsets = request.offsets {
            limits += " from offset \(offsets.lowerBound)"
            if offsets.upperBound < .max { limits += " to \(offsets.upperBound - 1)" }
        }
        if let from = request.from { limits += " from \(from.iso8601)" }
        if let to = request.to { limits += " to \(to.iso8601)" }
        return limits
    }
}
