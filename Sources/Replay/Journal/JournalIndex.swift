import Events
import Pipeline
import StateStore

/// The journal's steps by partition and offset, in a scratch store, so that memory does not grow with the range. One
/// owner.
package final class JournalIndex {
    private static let flushLimit = 20_000

    /// The group whose steps are returned; those of others are indexed only to know that they exist.
    package let group: String
    private let store: any OrderedStore
    private var pending: [JournalStep] = []
    /// One for each combination of group, topic, cluster and rules.
    private var origins: [StepOrigin] = []
    private var numbers: [StepOrigin: Int] = [:]
    /// Records in the journal's topic that are not entries.
    package private(set) var malformed = 0
    /// Entries that another version wrote.
    package private(set) var foreign = 0
    package private(set) var count = 0

    /// - Parameter store: empty, and used by nobody else.
    package init(store: any OrderedStore, group: String) {
        self.store = store
        self.group = group
    }

    package func append(_ reading: JournalReading) throws(StoreError) {
        switch reading {
        case .steps(let steps): try append(steps)
        case .unreadable: malformed += 1
        case .anotherVersion: foreign += 1
        }
    }

    package func append(_ steps: [JournalStep]) throws(StoreError) {
        count += steps.count
        pending += steps
        if pending.count >= Self.flushLimit { try flush() }
    }

    /// Writes what was appended. Call it before reading.
    package func flush() throws(StoreError) {
        guard !pending.isEmpty else { return }
        let entries = pending.map {
            (key: StepCoding.key(of: $0), value: StepCoding.value(of: $0, origin: number(of: $0)))
        }
        try store.write { writer throws(StoreError) in try writer.put(entries) }
        pending.removeAll(keepingCapacity: true)
    }

    private func number(of step: JournalStep) -> Int {
        let origin = StepOrigin(group: step.group, cluster: step.cluster, dispatch: step.dispatch, rules: step.rules)
        if let number = numbers[origin] { return number }
        numbers[origin] = origins.count
        origins.append(origin)
        return origins.count - 1
    }

    /// The steps of a partition that overlap a range of offsets, in offset order.
    package func cursor(of partition: SourcePartition, in range: Range<Int64>) throws(StoreError) -> JournalCursor {
        JournalCursor(try store.makeReader(), origins, group: group, partition: partition, range: range)
    }

    /// What the journal says of a range of a partition.
    package func survey(of partition: SourcePartition, in range: Range<Int64>) throws(StoreError) -> JournalSurvey {
        var cursor = try cursor(of: partition, in: range)
        var survey = JournalSurvey()
        while let (step, lane) = try cursor.nextOfAnyGroup() {
            if let lane { survey.note(step, lane: lane) } else { survey.noteNeighbour(step) }
        }
        return survey
    }
}

/// Iterates over the steps of a range in offset order, a block at a time.
///
/// If offsets were processed twice, the steps overlap. Each gets the first lane whose steps end at or before its start,
/// so that a lane can be replayed in one pass over the log. The lanes are the same in every iteration.
package struct JournalCursor: ~Copyable {
    private static let blockSize = 1_024

    private let reader: any StoreReader
    private let origins: [StepOrigin]
    private let group: String
    private let range: Range<Int64>
    private let prefix: [UInt8]
    private var nextKey: [UInt8]?
    private var block: [JournalStep] = []
    private var position = 0
    private var ends: [Int64] = []
    private var isAtEnd = false

    init(
        _ reader: any StoreReader, _ origins: [StepOrigin], group: String, partition: SourcePartition,
        range: Range<Int64>
    ) {
        self.reader = reader
        self.origins = origins
        self.group = group
        self.range = range
        prefix = StepCoding.prefix(of: partition)
    }

    /// The next step of the selected group, and its lane.
    package mutating func next() throws(StoreError) -> (step: JournalStep, lane: Int)? {
        while let (step, lane) = try nextOfAnyGroup() {
            if let lane { return (step, lane) }
        }
        return nil
    }

    /// The next step, and its lane; a nil lane: it is another group's.
    mutating func nextOfAnyGroup() throws(StoreError) -> (step: JournalStep, lane: Int?)? {
        while true {
            if position == block.count {
                if isAtEnd { return nil }
                try load()
                continue
            }
            let step = block[position]
            position += 1
            if step.from > range.upperBound {
                isAtEnd = true
                position = block.count
                return nil
            }
            guard step.touches(range) else { continue }
            guard step.group == group else { return (step, nil) }
            let lane = ends.firstIndex { $0 <= step.from } ?? ends.count
            if lane == ends.count { ends.append(step.to) } else { ends[lane] = step.to }
            return (step, lane)
        }
    }

    private mutating func load() throws(StoreError) {
        block.removeAll(keepingCapacity: true)
        position = 0
        var entries: [StoreEntry] = []
        try reader.begin()
        defer { reader.end() }
        let first = nextKey ?? prefix
        let reader = reader
        try prefix.withStored { prefix throws(StoreError) in
            try first.withStored { first throws(StoreError) in
                try reader.append(startingWith: prefix, from: first, limit: Self.blockSize, to: &entries)
            }
        }
        isAtEnd = entries.count < Self.blockSize
        // The smallest key after the last one.
        if let last = entries.last { nextKey = Array(last.key) + [0] }
        for entry in entries { block.append(StepCoding.step(entry, origins)) }
    }
}
