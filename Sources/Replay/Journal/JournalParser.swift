import KafkaClient

/// Parses journal entries into their steps (ADR 30).
package struct JournalParser {
    private let topics: PipelineConfiguration.Topics

    /// - Parameter topics: those whose events and requests are returned; a journal may be shared.
    package init(topics: PipelineConfiguration.Topics) {
        self.topics = topics
    }

    package func read(
        _ value: UnsafeRawBufferPointer?, at coordinates: Coordinates
    ) throws(JournalProblem) -> [JournalStep] {
        let entry = try JournalEntry(json: value)
        var watermarks: [SourcePartition: JournalEntry.Watermark] = [:]
        for each in entry.watermarks {
            guard let partition = source(each.topic, each.partition) else { continue }
            guard each.until != nil || each.end <= each.start else {
                throw .malformed("the watermark of \(each.topic)/\(each.partition) moves without a time")
            }
            watermarks[partition] = each
        }
        var steps: [JournalStep] = []
        for range in entry.ranges {
            let name = "\(range.topic)/\(range.partition)"
            guard range.from >= 0, range.from <= range.to else { throw .malformed("the range of \(name) is none") }
            guard let partition = source(range.topic, range.partition) else { continue }
            if let first = range.first, !(range.from..<range.to).contains(first.offset) {
                throw .malformed("the first record of \(name) is outside its range")
            }
            guard let watermark = watermarks[partition] else { throw .malformed("\(name) has no watermark") }
            steps.append(
                JournalStep(
                    partition: partition, from: range.from, to: range.to, watermarkBefore: watermark.start,
                    watermarkAfter: watermark.end, until: watermark.until, clock: entry.clock, table: entry.table,
                    rules: entry.rules, group: entry.group, cluster: entry.cluster, dispatch: entry.dispatch,
                    first: range.first, isIncomplete: range.incomplete == true, coordinates: coordinates))
        }
        return steps
    }

    private func source(_ topic: String, _ partition: Int32) -> SourcePartition? {
        topics.sourcePartition(of: TopicPartition(topic: topic, partition: partition))
    }
}
