/// Which entries of a journal are selected: a journal holds those of every group that uses it.
package struct JournalSelection: Equatable, Sendable {
    package var group: String
    /// How entries without a group are treated; nil: they count as the group's, and a range that another group may have
    /// processed is refused.
    package var ungrouped: UngroupedEntries?

    package init(group: String, ungrouped: UngroupedEntries? = nil) {
        self.group = group
        self.ungrouped = ungrouped
    }

    func includes(_ step: JournalStep) -> Bool {
        if let writer = step.group { return writer == group }
        switch ungrouped {
        case .mine, nil: return true
        case .skip: return false
        }
    }
}

/// How a person classifies entries without a group, which the first version of the journal writes.
package enum UngroupedEntries: String, CaseIterable, Sendable {
    case mine, skip
}

/// Finds out whether more than one group may have written the entries without a group, or others beside them.
///
/// The entries of one group never overlap, unless its offsets were moved back. So it is undecided whose an entry
/// without a group is if it overlaps another one, or if another group's entry begins where it ends.
struct UngroupedDoubt {
    let group: String
    private(set) var isOpen = false
    private var ungroupedEnd = Int64.min
    private var groupedEnd = Int64.min
    /// The last entry without a group that only fired timers.
    private var lastTick: JournalStep?

    init(group: String) {
        self.group = group
    }

    /// Takes the entries of a partition in the order of the journal's index.
    mutating func note(_ step: JournalStep) {
        guard let writer = step.group else {
            if step.from < max(ungroupedEnd, groupedEnd) { isOpen = true }
            if step.from == step.to {
                if let lastTick, lastTick.to == step.to, step.watermarkBefore < lastTick.watermarkAfter {
                    isOpen = true
                }
                lastTick = step
            }
            ungroupedEnd = max(ungroupedEnd, step.to)
            return
        }
        if step.from < ungroupedEnd || step.from == ungroupedEnd && writer != group { isOpen = true }
        groupedEnd = max(groupedEnd, step.to)
    }
}
