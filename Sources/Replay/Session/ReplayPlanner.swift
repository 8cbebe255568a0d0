import Pipeline
import StateStore

/// Decides from the journal what is done again, how, and how sure that is. Pure but for the journal's store.
package struct ReplayPlanner {
    private let journal: JournalIndex
    /// The journal has lost nothing: what it does not cover was never done.
    private let isJournalWhole: Bool

    package init(journal: JournalIndex, isJournalWhole: Bool) {
        self.journal = journal
        self.isJournalWhole = isJournalWhole
    }

    /// - Parameter ranges: by partition, what is asked for.
    package func plan(_ ranges: [Int32: Range<Int64>]) throws -> ReplayInput {
        var input = ReplayInput()
        input.ranges = ranges
        for (partition, range) in ranges.sorted(by: { $0.key < $1.key }) where !range.isEmpty {
            try plan(partition, range, &input)
        }
        if journal.malformed > 0 { input.notes.append("\(journal.malformed) records of the journal cannot be read") }
        return input
    }

    private func plan(_ partition: Int32, _ range: Range<Int64>, _ input: inout ReplayInput) throws {
        let survey = try journal.survey(of: partition, in: range)
        input.surveys[partition] = survey
        let approximateBelow = try approximateBelow(partition, range, survey, &input)
        if survey.withoutTable > 0 {
            input.approximations.append(
                "partition \(partition): \(survey.withoutTable) transactions had a host's own resolver, "
                    + "and the journal does not say which devices it gave")
        }
        if survey.lanes.count > 1 {
            input.notes.append(
                "partition \(partition): some offsets were processed \(survey.lanes.count) times (offsets set)")
        }
        if survey.skipped > 0 {
            input.notes.append("partition \(partition): \(survey.skipped) offsets were passed over (offsets set)")
        }
        if approximateBelow > range.lowerBound {
            let end = max(survey.lanes.first?.to ?? 0, approximateBelow)
            input.spans.append(
                ReplaySpan(
                    partition: partition, range: range, foldFrom: range.lowerBound, end: end,
                    approximateBelow: approximateBelow))
        } else if let first = survey.lanes.first {
            input.spans.append(ReplaySpan(partition: partition, range: range, foldFrom: first.from, end: first.to))
        }
        for (lane, extent) in survey.lanes.enumerated().dropFirst() {
            input.spans.append(
                ReplaySpan(partition: partition, range: range, lane: lane, foldFrom: extent.from, end: extent.to))
        }
    }

    /// To where the records of the range have to do without a journal.
    private func approximateBelow(
        _ partition: Int32, _ range: Range<Int64>, _ survey: JournalSurvey, _ input: inout ReplayInput
    ) throws -> Int64 {
        if let first = survey.first {
            if let last = survey.last, last < range.upperBound {
                input.notes.append(
                    "partition \(partition): the pipeline has not come to the offsets from \(last) on, they are left out"
                )
            }
            guard first > range.lowerBound, !isJournalWhole else { return 0 }
            input.approximations.append(
                "partition \(partition): the journal begins at offset \(first), behind \(range.lowerBound)")
            return first
        }
        let whole = try journal.survey(of: partition, in: 0..<Int64.max)
        if let last = whole.last, let first = whole.first {
            if last <= range.lowerBound || isJournalWhole {
                input.notes.append(
                    "partition \(partition): the pipeline has not come to these offsets, they are left out")
                return 0
            }
            input.approximations.append(
                "partition \(partition): the journal begins at offset \(first), behind the range")
        } else {
            input.approximations.append("partition \(partition): there is no journal of it")
        }
        return range.upperBound
    }
}
