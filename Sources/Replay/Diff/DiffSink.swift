/// Looks up each rendered record among those that exist.
package struct DiffSink: ~Copyable, ReplaySink {
    /// A rendered record that differs from the one in the topic.
    struct Unequal {
        var coordinates: Coordinates
        var event: [UInt8]
        var record: RenderedRecord
    }

    /// The number of examples of each kind that are reported.
    private static let mostExamples = 10
    private static let mostSuspects = 100_000

    private let index: DispatchIndex
    /// Records that have to be read from the topic before they can be compared.
    private let unequal: UnequalRecords
    private let refusals: Refusals?
    private var source = SourceKind.orders
    private var areTimers = false
    package private(set) var report = DiffReport()
    /// Identities that occur more than once: whatever is left of them in the index is a duplicate.
    private var suspects: Set<DispatchIdentity> = []

    /// - Parameter refusals: of the pipeline that wrote the records; nil: no broker was queried.
    package init(_ index: DispatchIndex, unequal: UnequalRecords, refusals: Refusals? = nil) {
        self.index = index
        self.unequal = unequal
        self.refusals = refusals
    }

    package mutating func begin(_ step: JournalStep?, of source: SourceKind, areTimers: Bool) {
        self.source = source
        self.areTimers = areTimers
    }

    package mutating func dispatch(
        _ record: DispatchRecord, for notification: Notification, from event: EventRecord
    ) throws {
        report.rendered += 1
        guard let identity = index.identity(of: record) else { return }
        let all = try index.entries(of: identity)
        let there = all.filter { $0.replay == nil }
        if there.count > 1, suspects.count < Self.mostSuspects { suspects.insert(identity) }
        let content = index.content(of: record)
        if let equal = there.first(where: { $0.content == content }) {
            report.equal += 1
            return index.take(equal)
        }
        if there.isEmpty, all.contains(where: { $0.content == content }) {
            report.redriven += 1
            return
        }
        guard let other = there.first ?? all.first else {
            if refusals?.refusal(of: event, from: source, isTimer: areTimers) != nil {
                report.refused += 1
                return
            }
            report.missing += 1
            if report.missingExamples.count < Self.mostExamples { report.missingExamples.append(.init(record)) }
            return
        }
        report.unequal += 1
        index.take(other)
        let now = RenderedRecord(record, sources: notification.fieldSources)
        if let then = other.record {
            report.fields.note(then, now, of: identity.sortKey)
        } else {
            try unequal.append(Unequal(coordinates: other.coordinates, event: identity.sortKey, record: now))
        }
    }

    package mutating func passOver(_ event: EventRecord) throws {
        let coordinates = EventCoordinates(SourcePartition(source, event.partition), offset: event.offset)
        for entry in try index.entries(of: coordinates) { index.take(entry) }
    }

    package mutating func passOver(_ record: DispatchRecord, of timer: EventRecord) throws {
        guard let identity = index.identity(of: record) else { return }
        if let entry = try index.entries(of: identity).first { index.take(entry) }
    }

    /// Call it after everything has been rendered: counts what is left in the index.
    ///
    /// - Parameters:
    ///   - ranges: of the replayed offsets, by partition. For timers at their ends, the later ones.
    ///   - laterTimers: offsets at which timers have fired since the journal was read.
    ///   - hasTimers: whether remaining timers count; a filter cannot judge them.
    package mutating func finish(
        _ ranges: [SourcePartition: Range<Int64>], laterTimers: Set<EventCoordinates> = [], hasTimers: Bool = true
    ) throws -> DiffReport {
        for (partition, range) in ranges.sorted(by: { $0.key < $1.key }) {
            try index.visitLeft(of: partition, from: range.lowerBound) { identity, entry in
                guard identity.event.offset <= range.upperBound else { return false }
                // A re-drive has its own reasons, and may send a push again.
                if entry.replay != nil { return true }
                if identity.isTimer {
                    if identity.event.offset == range.lowerBound || laterTimers.contains(identity.event) || !hasTimers {
                        return true
                    }
                } else if identity.event.offset == range.upperBound {
                    return true
                }
                if suspects.contains(identity) { report.duplicates += 1 } else { report.extra += 1 }
                if report.extraExamples.count < Self.mostExamples {
                    report.extraExamples.append(
                        entry.record?.withDispatchRecord { DiffReport.Example($0) }
                            ?? .init(entry.coordinates, of: identity))
                }
                return true
            }
        }
        return report
    }
}

/// The result of a comparison. "There" is the topic, or the output of the other rules.
package struct DiffReport: Encodable {
    /// A record without a counterpart.
    package struct Example: Equatable, Sendable {
        package var source: String
        /// Empty for a record in the topic: only its coordinates are known.
        package var messageID = ""
        package var key = ""
        /// In the topic; nil for one that is not there.
        package var coordinates: Coordinates?

        init(_ record: DispatchRecord) {
            source = record.text(.source) ?? ""
            messageID = record.text(.messageID) ?? ""
            key = String(decoding: record.key, as: UTF8.self)
        }

        init(_ coordinates: Coordinates, of identity: DispatchIdentity) {
            self.coordinates = coordinates
            let topic =
                switch identity.event.partition.source {
                case .orders: identity.isTimer ? EventBatch.scheduleTopic : "events"
                case .requests: "requests"
                }
            source = "\(topic)/\(identity.event.partition.number)/\(identity.event.offset)"
        }
    }

    package var rendered = 0
    package var equal = 0
    /// Equal to the rendered record, and there only because a re-drive sent it.
    package var redriven = 0
    /// Records that re-drives have sent, by id; they are consulted only where the pipeline's own are missing.
    package var redrives: [String: Int] = [:]
    package var unequal = 0
    /// Rendered, but not there.
    package var missing = 0
    /// Rendered, but not there because the broker rejected them: their event is a dead letter. Not a difference.
    package var refused = 0
    /// There, but not rendered.
    package var extra = 0
    /// There more often than they were rendered.
    package var duplicates = 0
    package var fields = FieldDifferences()
    package var missingExamples: [Example] = []
    package var extraExamples: [Example] = []

    /// The examples are written by the report, with their topic.
    private enum CodingKeys: CodingKey {
        case rendered, equal, redriven, redrives, unequal, missing, refused, extra, duplicates, fields
    }

    package var isZero: Bool { unequal + missing + extra + duplicates == 0 }
}

/// Records that are to be compared with those of the topic, in a ``Scratch`` by their coordinates there.
package final class UnequalRecords {
    private let insert: Statement
    private let select: Statement
    /// For each partition of the topic, the offsets that are to be read.
    package private(set) var ranges: [Int32: ClosedRange<Int64>] = [:]

    package init(_ scratch: Scratch) throws {
        try scratch.run(
            "CREATE TABLE unequal (partition, offset, event, record, sources, PRIMARY KEY (partition, offset))")
        insert = try Statement(scratch, "INSERT OR REPLACE INTO unequal VALUES (?, ?, ?, ?, ?)")
        select = try Statement(
            scratch, "SELECT event, record, sources FROM unequal WHERE partition = ? AND offset = ?")
    }

    func append(_ unequal: DiffSink.Unequal) throws {
        let (coordinates, record) = (unequal.coordinates, unequal.record)
        try insert.run(
            coordinates.partition, coordinates.offset, unequal.event, record.packed, record.packedSources)
        let known = ranges[coordinates.partition] ?? coordinates.offset...coordinates.offset
        ranges[coordinates.partition] =
            min(known.lowerBound, coordinates.offset)...max(known.upperBound, coordinates.offset)
    }

    /// Compares a record of the topic with the rendered one, if there is one.
    package func compare(_ record: RenderedRecord, at coordinates: Coordinates, _ report: inout DiffReport) throws {
        try select.bind(coordinates.partition, coordinates.offset)
        guard let row = try select.next() else { return }
        report.fields.note(record, RenderedRecord(row, 1), of: Array(row.bytes(0)))
    }
}
