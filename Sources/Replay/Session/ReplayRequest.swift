import FanOut
import Pipeline
import Subscriptions

/// What is to be replayed.
package struct ReplayRequest: Sendable {
    /// Times of records, in milliseconds since 1970: from the first one at or after `from` to the last one before `to`.
    package var from: Int64?
    package var to: Int64?
    /// Offsets, in place of times.
    package var offsets: Range<Int64>?
    /// Nil: all.
    package var partitions: Set<Int32>?
    package var filter = FilterRules()
    package var view = SubscriptionHistory.View.both
    /// As if there were no journal.
    package var ignoresJournal = false
    /// What becomes of the journal's entries that name no group; nil: see ``JournalSelection``.
    package var ungrouped: UngroupedEntries?
    /// By partition, what is selected, where that is known already: in place of times, offsets and partitions.
    package var known: [Int32: Range<Int64>]?
    /// By partition, what a group has committed: nothing from there on is selected, and everything below is done again behind
    /// what is selected, since it may replace it. Nil: what is selected ends by itself.
    package var committed: [Int32: Int64]?

    package init() {}
}

/// Why a replay cannot be done, in a sentence for a person.
package struct ReplayRefusal: Error, CustomStringConvertible {
    package var description: String

    package init(_ description: String) {
        self.description = description
    }
}

/// It was stopped from outside.
package struct ReplayStopped: Error {
    package init() {}
}

/// What a replay has found out about its input before it renders anything.
package struct ReplayInput: Sendable {
    /// By partition, what is asked for; where it is done again up to a group's committed offsets, up to there; without what
    /// is before the group's first entry in the journal.
    package var ranges: [Int32: Range<Int64>] = [:]
    /// By partition, what of that is selected.
    package var selected: [Int32: Range<Int64>] = [:]
    package var spans: [ReplaySpan] = []
    package var surveys: [Int32: JournalSurvey] = [:]
    /// Whose steps are done again.
    package var group = ""
    /// Records of the journal that a later version wrote.
    package var newerEntries = 0
    /// Why what follows is not sure to be what the pipeline did; empty: it is.
    package var approximations: [String] = []
    /// What else is worth to know.
    package var notes: [String] = []

    package init() {}

    package var isApproximate: Bool { !approximations.isEmpty }
    /// How many steps of the journal were written under each hash of the rules.
    package var stepsByRules: [String: Int] { sum(of: \.stepsByRules) }
    /// How many were done in each cluster, as far as the journal says it.
    package var stepsByCluster: [String: Int] { sum(of: \.stepsByCluster) }
    /// How many wrote to each dispatch topic, as far as the journal says it.
    package var stepsByDispatch: [String: Int] { sum(of: \.stepsByDispatch) }
    /// Whether some of what is selected has no journal.
    package var lacksJournal: Bool {
        selected.contains { partition, selected in
            guard !selected.isEmpty else { return false }
            return (ranges[partition]?.lowerBound ?? 0) > selected.lowerBound
                || spans.contains { $0.partition == partition && $0.approximateBelow > selected.lowerBound }
        }
    }
    /// Whether some of what is selected was done while the state of orders may have lacked something.
    package var isIncomplete: Bool {
        selected.contains { partition, selected in
            guard !selected.isEmpty, let extent = surveys[partition]?.incomplete else { return false }
            // Timers at an offset come before the record there.
            return extent.from <= selected.upperBound && extent.to > selected.lowerBound
        }
    }
    package var steps: Int { surveys.values.reduce(0) { $0 + $1.steps } }
    package var lanes: Int { (spans.map(\.lane).max() ?? -1) + 1 }
    /// How many offsets are read, folded ones too.
    package var offsets: Int64 { spans.reduce(0) { $0 + max(0, $1.end - $1.foldFrom) } }
    /// By partition, what is done again: up to the last transaction, as far as it was asked for.
    package var done: [Int32: Range<Int64>] {
        var found: [Int32: Range<Int64>] = [:]
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

    /// - Throws: where what is in a dispatch topic cannot be told apart.
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
