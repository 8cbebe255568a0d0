/// Records of the dispatch topic by their identity, in a ``Scratch``: what was really sent, or what other rules render.
///
/// A lookup that finds a record removes it; the remaining ones have no counterpart. One owner, one thread.
package final class DispatchIndex {
    struct Entry {
        /// Its row.
        var number: Int
        var content: Digest
        /// In the topic; for records of other rules only a number.
        var coordinates: Coordinates
        /// The record itself, if it cannot be read again.
        var record: RenderedRecord?
        /// The id of the re-drive that sent it; nil: the pipeline sent it.
        var replay: String?
    }

    private let insert: Statement
    private let ofIdentity: Statement
    private let ofEvent: Statement
    private let ofPartition: Statement
    private let sent: SentPushes?
    private var parts: DispatchReader
    /// The rows that were removed.
    private var taken = NumberSet()
    package private(set) var count = 0
    /// Records that do not come from the events or requests of this pipeline.
    package private(set) var foreign = 0
    /// The number of records that each re-drive has sent, by its id.
    package private(set) var redriven: [String: Int] = [:]

    /// - Parameter sent: receives every record, whatever its source.
    package init(_ scratch: Scratch, topics: PipelineConfiguration.Topics, sent: SentPushes? = nil) throws {
        try scratch.run(
            """
            CREATE TABLE dispatched (
                partition, offset, is_event, push, number, content, at_partition, at_offset, replay, record, sources,
                PRIMARY KEY (partition, offset, is_event, push, number)) WITHOUT ROWID
            """)
        self.sent = sent
        insert = try Statement(scratch, "INSERT INTO dispatched VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        let select = "SELECT number, content, at_partition, at_offset, replay, record, sources"
        ofIdentity = try Statement(
            scratch, "\(select) FROM dispatched WHERE partition = ? AND offset = ? AND is_event = ? AND push = ?")
        ofEvent = try Statement(
            scratch, "\(select) FROM dispatched WHERE partition = ? AND offset = ? AND is_event ORDER BY push, number")
        ofPartition = try Statement(
            scratch,
            """
            \(select), offset, is_event, push FROM dispatched WHERE partition = ? AND offset >= ?
            ORDER BY offset, is_event, push, number
            """)
        parts = DispatchReader(topics: topics)
    }

    // MARK: Filling

    /// - Parameters:
    ///   - ranges: by partition, the offsets of the events to index; nil: all.
    ///   - copy: stored with it if the record cannot be read again.
    package func append(
        _ record: DispatchRecord, at coordinates: Coordinates, within ranges: [SourcePartition: Range<Int64>]? = nil,
        keeping copy: RenderedRecord? = nil
    ) throws {
        try sent?.append(record)
        guard let identity = parts.identity(of: record) else {
            foreign += 1
            return
        }
        let event = identity.event
        if let ranges {
            guard let range = ranges[event.partition], event.offset >= range.lowerBound,
                event.offset <= range.upperBound
            else { return }
        }
        // A foreign header may be longer than any id.
        let replay = record.replayID.map { String(decoding: $0.prefix(100), as: UTF8.self) }
        if let replay { redriven[replay, default: 0] += 1 }
        try insert.run(
            Int64(event.partition.bits), event.offset, !identity.isTimer, identity.digest, count,
            parts.content(of: record.original), coordinates.partition, coordinates.offset, replay, copy?.packed,
            copy?.packedSources)
        count += 1
    }

    // MARK: Looking

    func identity(of record: DispatchRecord) -> DispatchIdentity? { parts.identity(of: record) }

    func content(of record: DispatchRecord) -> Digest { parts.content(of: record) }

    /// Whether a record's device has its message under any source; false if sources were not recorded.
    func isSent(_ record: DispatchRecord) throws -> Bool { try sent?.contains(record) ?? false }

    /// The records with an identity that were not removed.
    func entries(of identity: DispatchIdentity) throws -> [Entry] {
        let event = identity.event
        try ofIdentity.bind(Int64(event.partition.bits), event.offset, !identity.isTimer, identity.digest)
        return try left(ofIdentity)
    }

    /// Whether a re-drive has sent a record with an identity.
    func has(_ identity: DispatchIdentity, by replay: String) throws -> Bool {
        try redriven[replay] != nil && entries(of: identity).contains { $0.replay == replay }
    }

    /// The records of an event that were not removed.
    func entries(of event: EventCoordinates) throws -> [Entry] {
        try ofEvent.bind(Int64(event.partition.bits), event.offset)
        return try left(ofEvent)
    }

    private func left(_ rows: Statement) throws -> [Entry] {
        var entries: [Entry] = []
        while let row = try rows.next() {
            if !taken.contains(Int(row.number(0))) { entries.append(Entry(row)) }
        }
        return entries
    }

    /// Removes an entry.
    func take(_ entry: Entry) {
        taken.insert(entry.number)
    }

    /// Calls `body` for every remaining entry from a partition's offset on, until it returns false.
    func visitLeft(
        of partition: SourcePartition, from offset: Int64, _ body: (DispatchIdentity, Entry) -> Bool
    ) throws {
        try ofPartition.bind(Int64(partition.bits), offset)
        while let row = try ofPartition.next() {
            guard !taken.contains(Int(row.number(0))) else { continue }
            let identity = DispatchIdentity(
                EventCoordinates(partition, offset: row.number(7)), isTimer: row.number(8) == 0,
                digest: Digest(row.bytes(9)))
            if !body(identity, Entry(row)) { return }
        }
    }
}

extension DispatchIndex.Entry {
    fileprivate init(_ row: Row) {
        self.init(
            number: Int(row.number(0)), content: Digest(row.bytes(1)),
            coordinates: Coordinates(partition: Int32(row.number(2)), offset: row.number(3)),
            record: row.isNull(5) ? nil : RenderedRecord(row, 5), replay: row.isNull(4) ? nil : row.text(4))
    }
}

/// Numbers from 0 on, a bit each.
private struct NumberSet {
    private var words: [UInt64] = []

    func contains(_ number: Int) -> Bool {
        number / 64 < words.count && words[number / 64] & 1 << UInt64(number % 64) != 0
    }

    mutating func insert(_ number: Int) {
        if number / 64 >= words.count {
            words += repeatElement(0, count: number / 64 + 1 - words.count)
        }
        words[number / 64] |= 1 << UInt64(number % 64)
    }
}

/// Renders into an index, for a comparison of two sets of rules.
package struct IndexSink: ~Copyable, ReplaySink {
    private let index: DispatchIndex
    private var count: Int64 = 0

    package init(_ index: DispatchIndex) {
        self.index = index
    }

    package mutating func dispatch(
        _ record: DispatchRecord, for notification: Notification, from event: EventRecord
    ) throws {
        count += 1
        try index.append(
            record, at: Coordinates(partition: 0, offset: count),
            keeping: RenderedRecord(record, sources: notification.fieldSources))
    }
}
