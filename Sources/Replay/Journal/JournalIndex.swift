import NotificationPayload
import Pipeline
import StateStore

/// The journal's steps by partition and offset, in a scratch store, so that memory does not grow with the range. One owner.
package final class JournalIndex {
    private static let flushLimit = 20_000

    private let store: any OrderedStore
    private var pending: [JournalStep] = []
    /// Records of the journal that are none.
    package private(set) var malformed = 0
    package private(set) var count = 0

    /// - Parameter store: an empty one of its own.
    package init(store: any OrderedStore) {
        self.store = store
    }

    package func append(_ steps: [JournalStep]?) throws(StoreError) {
        guard let steps else {
            malformed += 1
            return
        }
        count += steps.count
        pending += steps
        if pending.count >= Self.flushLimit { try flush() }
    }

    /// Writes what was appended. To be called before reading.
    package func flush() throws(StoreError) {
        guard !pending.isEmpty else { return }
        let entries = pending.map { (key: StepCoding.key(of: $0), value: StepCoding.value(of: $0)) }
        try store.write { writer throws(StoreError) in try writer.put(entries) }
        pending.removeAll(keepingCapacity: true)
    }

    /// The steps of a partition that touch a range of offsets, in the order of their offsets.
    package func cursor(of partition: Int32, in range: Range<Int64>) throws(StoreError) -> JournalCursor {
        JournalCursor(try store.makeReader(), partition: partition, range: range)
    }

    /// What the journal says of a range of a partition.
    package func survey(of partition: Int32, in range: Range<Int64>) throws(StoreError) -> JournalSurvey {
        var cursor = try cursor(of: partition, in: range)
        var survey = JournalSurvey()
        while let (step, lane) = try cursor.next() { survey.note(step, lane: lane) }
        return survey
    }
}

/// What the journal says of a range of one partition.
package struct JournalSurvey: Equatable, Sendable {
    /// Steps of one lane never overlap. More than one: offsets were processed again, after an operator's `offsets set`.
    package struct Lane: Equatable, Sendable {
        package var from: Int64
        package var to: Int64
    }

    package var lanes: [Lane] = []
    package var steps = 0
    /// Steps without the table's position.
    package var withoutTable = 0
    /// The least position of each partition of the subscriptions topic; empty where a table had not been read into yet.
    package var oldestTable: [Int64] = []
    private var hasEmptyTable = false
    /// Offsets between two steps that no transaction has covered: an operator's `offsets set`, or records that were gone.
    package var skipped: Int64 = 0
    package var ticks = 0
    /// How many steps were written under each hash of the rules.
    package var stepsByRules: [String: Int] = [:]
    private var reached: Int64?

    package init() {}

    package var first: Int64? { lanes.first?.from }
    package var last: Int64? { lanes.map(\.to).max() }

    mutating func note(_ step: JournalStep, lane: Int) {
        steps += 1
        stepsByRules[step.rules, default: 0] += 1
        if step.hasTick { ticks += 1 }
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
}

/// Walks over the steps of a range in the order of their offsets, a block at a time.
///
/// Where offsets were processed twice the steps overlap. Each gets the first lane whose steps end at or before its start,
/// so that what is in one lane can be done again in one pass over the log; the lanes are the same in every walk.
package struct JournalCursor: ~Copyable {
    private static let blockSize = 1_024

    private let reader: any StoreReader
    private let range: Range<Int64>
    private let prefix: [UInt8]
    private var nextKey: [UInt8]?
    private var block: [JournalStep] = []
    private var position = 0
    private var ends: [Int64] = []
    private var isAtEnd = false

    init(_ reader: any StoreReader, partition: Int32, range: Range<Int64>) {
        self.reader = reader
        self.range = range
        prefix = StepCoding.prefix(of: partition)
    }

    /// The next step, and its lane.
    package mutating func next() throws(StoreError) -> (step: JournalStep, lane: Int)? {
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
        // The key behind the last one.
        if let last = entries.last { nextKey = Array(last.key) + [0] }
        for entry in entries { block.append(StepCoding.step(entry)) }
    }
}

/// How a step is stored: by partition, offsets and watermark, so that a step that only let timers go stands before the one
/// that went on from there.
private enum StepCoding {
    static func prefix(of partition: Int32) -> [UInt8] { bigEndian(UInt32(bitPattern: partition)) }

    static func key(of step: JournalStep) -> [UInt8] {
        prefix(of: step.partition) + bigEndian(UInt64(bitPattern: step.from)) + bigEndian(UInt64(bitPattern: step.to))
            + bigEndian(UInt64(bitPattern: step.watermarkBefore) ^ 1 << 63)
            + bigEndian(UInt32(bitPattern: step.place.partition)) + bigEndian(UInt64(bitPattern: step.place.offset))
    }

    static func value(of step: JournalStep) -> [UInt8] {
        var bytes = bigEndian(UInt64(bitPattern: step.watermarkAfter)) + bigEndian(UInt64(bitPattern: step.clock))
        bytes += bigEndian(UInt32(step.table.map { $0.count + 1 } ?? 0))
        for offset in step.table ?? [] { bytes += bigEndian(UInt64(bitPattern: offset)) }
        return bytes + Array(step.rules.utf8)
    }

    static func step(_ entry: StoreEntry) -> JournalStep {
        let count = Int(number(entry.value, 16, UInt32.self))
        let table = (1..<max(1, count)).map { Int64(bitPattern: number(entry.value, 12 + 8 * $0, UInt64.self)) }
        let end = 20 + 8 * max(0, count - 1)
        return JournalStep(
            partition: Int32(bitPattern: number(entry.key, 0, UInt32.self)),
            from: Int64(bitPattern: number(entry.key, 4, UInt64.self)),
            to: Int64(bitPattern: number(entry.key, 12, UInt64.self)),
            watermarkBefore: Int64(bitPattern: number(entry.key, 20, UInt64.self) ^ 1 << 63),
            watermarkAfter: Int64(bitPattern: number(entry.value, 0, UInt64.self)),
            clock: Int64(bitPattern: number(entry.value, 8, UInt64.self)),
            table: count == 0 ? nil : table, rules: String(decoding: entry.value[end...], as: UTF8.self),
            place: Coordinates(
                partition: Int32(bitPattern: number(entry.key, 28, UInt32.self)),
                offset: Int64(bitPattern: number(entry.key, 32, UInt64.self))))
    }

    private static func number<Number: FixedWidthInteger>(
        _ bytes: UnsafeRawBufferPointer, _ place: Int, _ type: Number.Type
    ) -> Number {
        Number(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: type))
    }
}
