import DispatchRecords
import Events
import Pipeline
import StateStore

/// Records of the dispatch topic by their identity, in a scratch store: what was really sent, or what other rules
/// render.
///
/// A lookup that finds a record removes it; the remaining ones have no counterpart. One owner, one thread.
package final class DispatchIndex {
    private static let flushLimit = 100_000
    private static let identityCount = 29
    /// A key: the identity, the place, and the id of a re-drive.
    private static let placeEnd = identityCount + 12

    struct Entry {
        /// The stored value.
        var key: [UInt8]
        var content: Digest
        /// Its place in the topic; for records of other rules only a number.
        var place: Coordinates
        /// The record itself, if it cannot be read again.
        var record: RenderedRecord?
        /// The id of the re-drive that sent it; nil: the pipeline sent it.
        var replay: String?
    }

    private let store: any OrderedStore
    private let reader: any StoreReader
    private let sent: SentPushes?
    private var parts: DispatchReader
    private var pending: [(key: [UInt8], value: [UInt8])] = []
    /// Entries that were removed but are still in the store.
    private var taken: Set<[UInt8]> = []
    private var found: [StoreEntry] = []
    package private(set) var count = 0
    /// Records that do not come from the events or requests of this pipeline.
    package private(set) var foreign = 0
    /// The number of records that each re-drive has sent, by its id.
    package private(set) var redriven: [String: Int] = [:]

    /// - Parameters:
    ///   - store: empty, and used by nobody else.
    ///   - sent: receives every record, whatever its source.
    package init(store: any OrderedStore, topics: PipelineConfiguration.Topics, sent: SentPushes? = nil)
        throws(StoreError)
    {
        self.store = store
        self.sent = sent
        reader = try store.makeReader()
        parts = DispatchReader(topics: topics)
    }

    // MARK: Filling

    /// - Parameters:
    ///   - ranges: by partition, the offsets of the events to index; nil: all.
    ///   - copy: stored with it if the record cannot be read again.
    package func append(
        _ record: DispatchRecord, at place: Coordinates, within ranges: [SourcePartition: Range<Int64>]? = nil,
        keeping copy: RenderedRecord? = nil
    ) throws(StoreError) {
        try sent?.append(record)
        guard let identity = parts.identity(of: record) else {
            foreign += 1
            return
        }
        if let ranges {
            guard let range = ranges[identity.event.partition], identity.event.offset >= range.lowerBound,
                identity.event.offset <= range.upperBound
            else { return }
        }
        count += 1
        // A foreign header may be longer than any id.
        let replay = record.replayID.map { Array($0.prefix(100)) }
        if let replay { redriven[String(decoding: replay, as: UTF8.self), default: 0] += 1 }
        let content = parts.content(of: record.original)
        pending.append(
            (
                identity.bytes + bigEndian(UInt32(bitPattern: place.partition))
                    + bigEndian(UInt64(bitPattern: place.offset)) + (replay ?? []),
                content.bytes + (copy?.encoded() ?? [])
            ))
        if pending.count >= Self.flushLimit { try flush() }
    }

    /// Writes what was appended or removed. Call it before reading.
    package func flush() throws(StoreError) {
        try sent?.flush()
        guard !pending.isEmpty || !taken.isEmpty else { return try reader.begin() }
        reader.end()
        try store.write { writer throws(StoreError) in
            try writer.put(pending)
            for key in taken { try key.withStored { key throws(StoreError) in try writer.remove(key) } }
        }
        pending.removeAll()
        taken.removeAll(keepingCapacity: true)
        try reader.begin()
    }

    // MARK: Looking

    func identity(of record: DispatchRecord) -> DispatchIdentity? { parts.identity(of: record) }

    func content(of record: DispatchRecord) -> Digest { parts.content(of: record) }

    /// Whether a record's device has its message under any source; false if sources were not recorded.
    func isSent(_ record: DispatchRecord) throws(StoreError) -> Bool { try sent?.contains(record) ?? false }

    /// The records with an identity that were not removed.
    func entries(of identity: DispatchIdentity) throws(StoreError) -> [Entry] {
        try entries(startingWith: identity.bytes)
    }

    /// The records of an event that were not removed.
    func entries(of event: EventCoordinates) throws(StoreError) -> [Entry] {
        try entries(startingWith: event.bytes + [1])
    }

    private func entries(startingWith prefix: [UInt8]) throws(StoreError) -> [Entry] {
        if taken.count >= Self.flushLimit { try flush() }
        found.removeAll(keepingCapacity: true)
        try prefix.withStored { prefix throws(StoreError) in
            try reader.append(startingWith: prefix, limit: .max, to: &found)
        }
        var entries: [Entry] = []
        for entry in found {
            let key = Array(entry.key)
            if !taken.contains(key) { entries.append(Self.entry(key, entry.value)) }
        }
        return entries
    }

    /// Removes an entry.
    func take(_ entry: Entry) {
        taken.insert(entry.key)
    }

    /// Calls `body` for every remaining entry from a partition's offset on, until it returns false.
    func visitLeft(
        of partition: SourcePartition, from offset: Int64, _ body: (DispatchIdentity, Entry) -> Bool
    ) throws(StoreError) {
        try flush()
        let prefix = bigEndian(partition.bits)
        var first = EventCoordinates(partition, offset: offset).bytes
        while true {
            found.removeAll(keepingCapacity: true)
            try prefix.withStored { prefix throws(StoreError) in
                try first.withStored { first throws(StoreError) in
                    try reader.append(startingWith: prefix, from: first, limit: 1_024, to: &found)
                }
            }
            for entry in found {
                let key = Array(entry.key)
                if !body(DispatchIdentity(decoding: key), Self.entry(key, entry.value)) { return }
            }
            guard found.count == 1_024, let last = found.last else { return }
            first = Array(last.key) + [0]
        }
    }

    private static func entry(_ key: [UInt8], _ value: UnsafeRawBufferPointer) -> Entry {
        let place = key.withUnsafeBytes { key in
            Coordinates(
                partition: Int32(
                    bitPattern: UInt32(bigEndian: key.loadUnaligned(fromByteOffset: identityCount, as: UInt32.self))),
                offset: Int64(
                    bitPattern: UInt64(
                        bigEndian: key.loadUnaligned(fromByteOffset: identityCount + 4, as: UInt64.self))))
        }
        let record = value.count > 16 ? RenderedRecord(decoding: UnsafeRawBufferPointer(rebasing: value[16...])) : nil
        let replay = key.count > placeEnd ? String(decoding: key[placeEnd...], as: UTF8.self) : nil
        return Entry(key: key, content: Digest(value), place: place, record: record, replay: replay)
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

    package mutating func deadLetter(
        _ letter: DeadLetter, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
        headers: UnsafeBufferPointer<EventHeader>, from event: EventRecord
    ) {}
}
