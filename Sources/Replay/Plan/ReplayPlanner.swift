/// Decides from the journal what is replayed, how, and how exact the result is. Pure, except for the journal's store.
package struct ReplayPlanner {
    private let journal: JournalIndex
    /// The journal no longer has its first records.
    private let isCut: Bool

    package init(journal: JournalIndex, isCut: Bool) {
        self.journal = journal
        self.isCut = isCut
    }

    /// - Parameter ranges: by partition, the selected offsets.
    /// - Throws: ``ReplayRefusal`` if the journal has entries of another version.
    package func plan(_ ranges: [SourcePartition: Range<Int64>]) throws -> ReplayInput {
        if journal.foreign > 0 {
            throw ReplayRefusal(
                "\(journal.foreign) records of the journal were written by another version of carillon, and may be about any "
                    + "range: use that version, delete them with kafka-delete-records.sh, or take --no-journal")
        }
        var input = ReplayInput()
        input.ranges = ranges
        input.group = journal.group
        let asked = ranges.sorted { $0.key < $1.key }.filter { !$0.value.isEmpty }
        for (partition, range) in asked { input.surveys[partition] = try journal.survey(of: partition, in: range) }
        for (partition, range) in asked { try plan(partition, range, &input) }
        let malformed = journal.malformed
        if malformed.count > 0 {
            input.notes.append(
                "\(malformed.count) records of the journal cannot be read, the first at \(malformed.first)")
        }
        return input
    }

    private func plan(_ partition: SourcePartition, _ range: Range<Int64>, _ input: inout ReplayInput) throws {
        guard let survey = input.surveys[partition] else { return }
        let approximateBelow = try approximateBelow(partition, range, survey, &input)
        if survey.withoutTable > 0 {
            input.approximations.append(
                "\(partition.name): \(survey.withoutTable) transactions had a host's own resolver, "
                    + "and the journal does not say which devices it gave")
        }
        if let extent = survey.incomplete {
            input.approximations.append(
                "\(partition.name): from offset \(extent.from) to \(extent.to) the pipeline itself may not have known "
                    + "everything of orders (the journal says incomplete)")
        }
        if survey.lanes.count > 1 {
            input.notes.append(
                "\(partition.name): some offsets were processed \(survey.lanes.count) times (offsets set)")
        }
        if survey.skipped > 0 {
            input.notes.append("\(partition.name): \(survey.skipped) offsets were passed over (offsets set)")
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

    /// The end of the records of the range that have no journal entries.
    ///
    /// A journal that still has its first records may be younger than the group, since a topic can be deleted and
    /// created again. So offsets before the group's first entry are left out, and the result is called approximate:
    /// nothing says whether the group began there.
    private func approximateBelow(
        _ partition: SourcePartition, _ range: Range<Int64>, _ survey: JournalSurvey, _ input: inout ReplayInput
    ) throws -> Int64 {
        if let last = survey.last, last < range.upperBound {
            input.notes.append(
                "\(partition.name): the pipeline has not come to the offsets from \(last) on, they are left out")
        }
        if let first = survey.first, first <= range.lowerBound { return 0 }
        let whole = try journal.survey(of: partition, in: 0..<Int64.max)
        guard let first = whole.first, let last = whole.last else {
            input.approximations.append(
                "\(partition.name): there is no journal of it by group \(journal.group)")
            return range.upperBound
        }
        if last <= range.lowerBound {
            input.notes.append("\(partition.name): the pipeline has not come to these offsets, they are left out")
            return 0
        }
        if isCut {
            let end = survey.first ?? range.upperBound
            input.approximations.append(
                "\(partition.name): the journal begins at offset \(first), and has nothing of those from "
                    + "\(range.lowerBound) to \(end)")
            return end
        }
        if first <= range.lowerBound {
            let end = survey.first ?? range.upperBound
            input.notes.append(
                "\(partition.name): the offsets from \(range.lowerBound) to \(end) were passed over (offsets set)")
            return 0
        }
        let known = min(first, range.upperBound)
        input.ranges[partition] = known..<range.upperBound
        input.approximations.append(
            "\(partition.name): the journal begins at offset \(first), because group \(journal.group) did or "
                + "because the journal is younger; the offsets from \(range.lowerBound) to \(known) are left out")
        return 0
    }
}
