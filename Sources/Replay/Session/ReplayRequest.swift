/// What is to be replayed.
package struct ReplayRequest: Sendable {
    /// Times of records: from the first one at or after `from` to the last one before `to`.
    package var from: WallTime?
    package var to: WallTime?
    /// Offsets, instead of times.
    package var offsets: Range<Int64>?
    /// Of each topic; nil: all.
    package var partitions: Set<Int32>?
    /// Whether events, requests, or both; nil: all that the pipeline reads.
    package var sources: Set<SourceKind>?
    package var filter = FilterRules()
    package var view = SubscriptionHistory.View.both
    /// Ignore the journal.
    package var ignoresJournal = false
    /// By partition, the group's committed offsets: nothing from there on is selected, and everything between the
    /// selection and them is replayed too, since it may replace selected pushes. Nil: the replay ends with the
    /// selection.
    package var committed: [SourcePartition: Int64]?

    package init() {}
}

/// Why a replay is impossible, in a sentence for a person.
package struct ReplayRefusal: Error, CustomStringConvertible {
    package var description: String

    package init(_ description: String) {
        self.description = description
    }
}

/// The replay was cancelled.
package struct ReplayStopped: Error {}

/// What a replay knows about its input before it renders anything.
package struct ReplayInput: Sendable {
    /// By partition, the offsets to replay: to the group's committed offsets if those were requested; without those
    /// before the group's first entry in the journal.
    package var ranges: [SourcePartition: Range<Int64>] = [:]
    /// By partition, the selected part of them.
    package var selected: [SourcePartition: Range<Int64>] = [:]
    package var spans: [ReplaySpan] = []
    package var surveys: [SourcePartition: JournalSurvey] = [:]
    /// The group whose steps are replayed.
    package var group = ""
    /// Why the result may differ from what the pipeline did; empty: it is exact.
    package var approximations: [String] = []
    /// Further notes for a person.
    package var notes: [String] = []

    package var isApproximate: Bool { !approximations.isEmpty }
    /// The number of steps of the journal by the hash of their rules.
    package var stepsByRules: [String: Int] { sum(of: \.stepsByRules) }
    /// The number of steps by cluster, where it is known.
    package var stepsByCluster: [String: Int] { sum(of: \.stepsByCluster) }
    /// The number of steps by dispatch topic.
    package var stepsByDispatch: [String: Int] { sum(of: \.stepsByDispatch) }
    /// Whether some selected records have no journal entries.
    package var lacksJournal: Bool {
        selected.contains { partition, selected in
            guard !selected.isEmpty else { return false }
            return (ranges[partition]?.lowerBound ?? 0) > selected.lowerBound
                || spans.contains { $0.partition == partition && $0.approximateBelow > selected.lowerBound }
        }
    }
    /// Whether some selected records were processed while the state of orders may have been incomplete.
    package var isIncomplete: Bool {
        selected.contains { partition, selected in
            guard !selected.isEmpty, let extent = surveys[partition]?.incomplete else { return false }
            // Timers at an offset come before the record there.
            return extent.from <= selected.upperBound && extent.to > selected.lowerBound
        }
    }
    package var steps: Int { surveys.values.reduce(0) { $0 + $1.steps } }
    package var lanes: Int { (spans.map(\.lane).max() ?? -1) + 1 }
    /// The number of offsets to read, including those that are only folded.
    package var offsets: Int64 { spans.reduce(0) { $0 + max(0, $1.end - $1.foldFrom) } }
    /// By partition, the offsets to replay: up to the last transaction, within the request.
    package var done: [SourcePartition: Range<Int64>] {
        var found: [SourcePartition: Range<Int64>] = [:]
        for span in spans {
            guard let range = ranges[span.partition] else { continue }
            let end = max(range.lowerBound, min(range.upperBound, span.end))
            found[span.partition] = range.lowerBound..<max(end, found[span.partition]?.upperBound ?? end)
        }
        return found
    }

    /// The other groups that have written to a dispatch topic for the range.
    package func groupsSharing(_ topic: String) -> [String] {
        let groups = surveys.values.flatMap(\.neighbours).filter { $0.value.contains(topic) }.map(\.key)
        return Set(groups).sorted()
    }

    /// - Throws: if the groups' pushes in a dispatch topic cannot be told apart.
    func checkIsAlone(in topic: String) throws(ReplayRefusal) {
        let others = groupsSharing(topic)
        guard !others.isEmpty else { return }
        throw ReplayRefusal(
            "\(others.joined(separator: ", ")) wrote to \(topic) for the same events as \(group), so it is not known which "
                + "group sent what: choose a range that only \(group) has read, and give each group a topic.dispatch of its own"
        )
    }

    private func sum(of counts: KeyPath<JournalSurvey, [String: Int]>) -> [String: Int] {
        surveys.values.reduce(into: [:]) { $0.merge($1[keyPath: counts]) { $0 + $1 } }
    }
}
