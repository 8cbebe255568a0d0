/// What the journal says about a range of one partition: what the selected group did, and which other groups wrote.
package struct JournalSurvey: Equatable, Sendable {
    /// Steps of one lane never overlap. More than one lane: offsets were processed again, after an operator's `offsets
    /// set`.
    package struct Lane: Equatable, Sendable {
        package var from: Int64
        package var to: Int64
    }

    package var lanes: [Lane] = []
    package var steps = 0
    /// Steps without the table's position.
    package var withoutTable = 0
    /// The lowest position of each partition of the subscriptions topic; empty if a table had not read anything yet.
    package var oldestTable: [Int64] = []
    private var hasEmptyTable = false
    /// Offsets between two steps that no transaction covered: an operator's `offsets set`, or records that had expired.
    package var skipped: Int64 = 0
    package var ticks = 0
    /// How many steps were written under each hash of the rules, in each cluster, and to each dispatch topic.
    package var stepsByRules: [String: Int] = [:]
    package var stepsByCluster: [String: Int] = [:]
    package var stepsByDispatch: [String: Int] = [:]
    /// From the first step to the last one during which the state of orders may have been incomplete.
    package var incomplete: Lane?
    /// By other group, the dispatch topics that its steps wrote to.
    package var neighbours: [String: Set<String>] = [:]
    private var reached: Int64?

    package var first: Int64? { lanes.first?.from }
    package var last: Int64? { lanes.map(\.to).max() }

    /// Takes a step of the selected group.
    mutating func note(_ step: JournalStep, lane: Int) {
        steps += 1
        stepsByRules[step.rules, default: 0] += 1
        if let cluster = step.cluster { stepsByCluster[cluster, default: 0] += 1 }
        stepsByDispatch[step.dispatch, default: 0] += 1
        if step.hasTick { ticks += 1 }
        if step.isIncomplete { noteIncomplete(step) }
        if lane == lanes.count {
            lanes.append(Lane(from: step.from, to: step.to))
        } else {
            lanes[lane].to = step.to
        }
        if let reached, step.from > reached { skipped += step.from - reached }
        reached = max(reached ?? step.to, step.to)
        guard let table = step.table else {
            withoutTable += 1
            return
        }
        noteTable(table)
    }

    private mutating func noteIncomplete(_ step: JournalStep) {
        let known = incomplete ?? Lane(from: step.from, to: step.to)
        incomplete = Lane(from: min(known.from, step.from), to: max(known.to, step.to))
    }

    private mutating func noteTable(_ table: [Int64]) {
        if table.isEmpty {
            hasEmptyTable = true
            oldestTable.removeAll()
        }
        guard !hasEmptyTable else { return }
        for (partition, offset) in table.enumerated() {
            if partition < oldestTable.count {
                oldestTable[partition] = min(oldestTable[partition], offset)
            } else {
                oldestTable.append(offset)
            }
        }
    }

    /// Takes a step of another group.
    mutating func noteNeighbour(_ step: JournalStep) {
        neighbours[step.group, default: []].insert(step.dispatch)
    }
}
