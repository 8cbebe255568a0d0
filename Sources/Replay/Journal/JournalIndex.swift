/// The journal's steps by partition and offset, in a ``Scratch``. One owner.
package final class JournalIndex {
    /// The group whose steps are returned; those of others are indexed only to know that they exist.
    package let group: String
    private let scratch: Scratch
    private let insert: Statement
    private let insertOrigin: Statement
    private var origins: [StepOrigin: Int] = [:]
    /// Records in the journal's topic that are not entries, and what is wrong with the first.
    package private(set) var malformed = (count: 0, first: "")
    /// Entries that another version wrote.
    package private(set) var foreign = 0
    package private(set) var count = 0

    package init(_ scratch: Scratch, group: String) throws {
        try scratch.run(StepRow.schema)
        self.scratch = scratch
        self.group = group
        insert = try Statement(scratch, StepRow.insert)
        insertOrigin = try Statement(scratch, "INSERT INTO origins VALUES (?, ?, ?, ?, ?)")
    }

    /// Takes a record that is no entry.
    package func note(_ problem: JournalProblem, at coordinates: Coordinates) {
        switch problem {
        case .anotherVersion: foreign += 1
        case .malformed(let reason):
            if malformed.count == 0 { malformed.first = "\(coordinates.partition)/\(coordinates.offset): \(reason)" }
            malformed.count += 1
        }
    }

    package func append(_ steps: [JournalStep]) throws {
        count += steps.count
        for step in steps { try StepRow.write(step, origin: number(of: step), with: insert) }
    }

    private func number(of step: JournalStep) throws -> Int {
        let origin = StepOrigin(step)
        if let number = origins[origin] { return number }
        let number = origins.count
        try insertOrigin.run(number, origin.group, origin.cluster, origin.dispatch, origin.rules)
        origins[origin] = number
        return number
    }

    /// The steps of a partition that overlap a range of offsets, in offset order.
    package func cursor(of partition: SourcePartition, in range: Range<Int64>) throws -> JournalCursor {
        try JournalCursor(scratch, group: group, partition: partition, range: range)
    }

    /// What the journal says of a range of a partition.
    package func survey(of partition: SourcePartition, in range: Range<Int64>) throws -> JournalSurvey {
        var cursor = try cursor(of: partition, in: range)
        var survey = JournalSurvey()
        while let (step, lane) = try cursor.nextOfAnyGroup() {
            if let lane { survey.note(step, lane: lane) } else { survey.noteNeighbour(step) }
        }
        return survey
    }
}

/// Iterates over the steps of a range in offset order.
///
/// If offsets were processed twice, the steps overlap. Each gets the first lane whose steps end at or before its start,
/// so that a lane can be replayed in one pass over the log. The lanes are the same in every iteration.
package struct JournalCursor: ~Copyable {
    private let steps: Statement
    private let group: String
    private let partition: SourcePartition
    private let range: Range<Int64>
    private var ends: [Int64] = []

    init(_ scratch: Scratch, group: String, partition: SourcePartition, range: Range<Int64>) throws {
        let steps = try Statement(scratch, StepRow.select)
        try steps.bind(Int64(partition.bits), range.upperBound)
        self.steps = steps
        self.group = group
        self.partition = partition
        self.range = range
    }

    /// The next step of the selected group, and its lane.
    package mutating func next() throws -> (step: JournalStep, lane: Int)? {
        while let (step, lane) = try nextOfAnyGroup() {
            if let lane { return (step, lane) }
        }
        return nil
    }

    /// The next step, and its lane; a nil lane: it is another group's.
    mutating func nextOfAnyGroup() throws -> (step: JournalStep, lane: Int?)? {
        while let row = try steps.next() {
            let step = StepRow.read(row, of: partition)
            guard step.touches(range) else { continue }
            guard step.group == group else { return (step, nil) }
            let lane = ends.firstIndex { $0 <= step.from } ?? ends.count
            if lane == ends.count { ends.append(step.to) } else { ends[lane] = step.to }
            return (step, lane)
        }
        return nil
    }
}
