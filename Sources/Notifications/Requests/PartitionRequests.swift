import StateStore

/// The requests of one partition that were seen in the last 24 h: a fold over its records in the order of the log.
///
/// A record with an id that is known renews it. So what decides at an offset depends only on the records of the 24 h before,
/// measured by the partition's newest timestamp, and where there are more than ``limit`` ids, on the records with the
/// newest of them (ADR 73). One owner, which folds, commits and rolls back through ``RequestStates``.
final class PartitionRequests {
    /// For how long an id is known, in seconds.
    static let lifetime: UInt32 = 86_400
    /// How many expired entries a record removes at most: it brings one at most.
    private static let mostExpired = 2

    let partition: Int32
    private let limit: Int
    @exclusivity(unchecked) private var table = RequestTable()
    /// The newest timestamp of a record so far.
    @exclusivity(unchecked) private(set) var newest: WallTime
    /// As that of ``PartitionOrders``.
    @exclusivity(unchecked) var foldLimit: WallTime?
    /// What changed since the last checkpoint; nil if that is not tracked.
    @exclusivity(unchecked) private var changes: RequestChanges?
    /// The last records, by which a checkpoint recognises its log; nil if they are not tracked.
    @exclusivity(unchecked) private(set) var recent: RecentRecords?

    init(partition: Int32, newest: WallTime, limit: Int) {
        self.partition = partition
        self.newest = newest
        self.limit = limit
    }

    var count: Int { table.count }

    private var now: UInt32 { UInt32(clamping: newest.milliseconds / 1000) }

    private func isKnown(_ entry: RequestEntry) -> Bool { now - min(entry.time, now) < Self.lifetime }

    // MARK: Record by record

    /// Takes the next record of the partition.
    ///
    /// - Parameter latest: the latest time that it may count as (``RecordTime``).
    func begin(_ record: EventRecord, latest: WallTime, undo: inout UndoItems<RequestChange>) {
        if RecentFingerprints.remembers(record.value) {
            recent?.note(offset: record.offset, timestamp: record.timestamp, key: record.key)
        }
        // One after the limit was bounded by a clock that is not known here.
        if let timestamp = record.timestamp, timestamp <= foldLimit ?? .distantFuture {
            let time = foldLimit == nil ? min(timestamp, latest) : timestamp
            if time > newest {
                undo.append(.clock(newest), of: partition)
                newest = time
            }
        }
        for _ in 0..<Self.mostExpired where table.first != 0 && !isKnown(table[table.first]) {
            removeFirst(undo: &undo)
        }
    }

    /// - Returns: why it is not to be sent, and whether an id that was still known was forgotten for it.
    func take(
        _ request: RequestSighting, undo: inout UndoItems<RequestChange>
    ) -> (reason: SuppressionReason?, hasForgotten: Bool) {
        let content = Checksum.of(UnsafeRawBufferPointer(start: nil, count: 0), request.value)
        let entry = RequestEntry(key: request.key, content: content, offset: max(0, request.offset), time: now)
        let slot = table.find(request.key)
        if slot != 0 {
            let before = table[slot]
            undo.append(.renewed(slot, before), of: partition)
            changes?.remove(before, slot)
            table.renew(slot, entry)
            changes?.append(slot)
            guard isKnown(before), !request.isRedriven else { return (nil, false) }
            return (before.content == content ? .duplicate : .duplicateOtherContent, false)
        }
        undo.append(.added, of: partition)
        let added = table.append(entry)
        changes?.append(added)
        guard table.count > limit else { return (nil, false) }
        let hasForgotten = isKnown(table[table.first])
        removeFirst(undo: &undo)
        return (nil, hasForgotten)
    }

    private func removeFirst(undo: inout UndoItems<RequestChange>) {
        let entry = table[table.first]
        undo.append(.removed(entry), of: partition)
        changes?.remove(entry, table.first)
        table.remove(table.first)
    }

    func restore(_ change: RequestChange) {
        switch change {
        case .clock(let newest): self.newest = newest
        case .added:
            changes?.takeBack(table.last)
            table.remove(table.last)
        case .renewed(let slot, let entry):
            changes?.takeBack(slot)
            table.restore(slot, entry)
            changes?.restore(entry, slot, in: table)
        case .removed(let entry):
            let slot = table.prepend(entry)
            changes?.restore(entry, slot, in: table)
        }
    }

    /// Continues with the newest timestamp of the committed offset; it never decreases.
    func resume(newest: WallTime) {
        foldLimit = nil
        self.newest = max(self.newest, newest)
    }

    // MARK: Checkpoints

    func trackChanges(recent: RecentFingerprints) {
        self.recent = RecentRecords(recent)
        changes = RequestChanges(storedBelow: table.last == 0 ? .min : table[table.last].offset + 1)
    }

    func stopTracking() {
        changes = nil
        recent = nil
    }

    func takeChanges<Failure: Error>(
        limit: Int, _ body: (RequestOffset, UnsafeRawBufferPointer?) throws(Failure) -> Void
    ) throws(Failure) -> Int {
        var taken = 0
        while taken < limit, let offset = changes?.takeRemoved() {
            taken += 1
            try body(RequestOffset(offset), nil)
        }
        while taken < limit, let slot = changes?.take(in: table) {
            taken += 1
            let entry = table[slot]
            let stored: InlineArray<4, UInt64> = [
                entry.key.high, entry.key.low, entry.content, UInt64(entry.time),
            ]
            let result = withUnsafeBytes(of: stored) { bytes in
                Result { () throws(Failure) in try body(RequestOffset(entry.offset), bytes) }
            }
            try result.get()
        }
        return taken
    }

    /// - Returns: whether the bytes are an entry that follows the others.
    func load(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool {
        guard key.count == RequestOffset.size, value.count == MemoryLayout<InlineArray<4, UInt64>>.size else {
            return false
        }
        let stored = value.loadUnaligned(as: InlineArray<4, UInt64>.self)
        let entry = RequestEntry(
            key: RequestKey(high: stored[0], low: stored[1]), content: stored[2],
            offset: Int64(bitPattern: UInt64(bigEndian: key.loadUnaligned(as: UInt64.self))),
            time: UInt32(clamping: stored[3]))
        guard table.find(entry.key) == 0, table.count < limit else { return false }
        if table.last != 0, entry.offset <= table[table.last].offset || entry.time < table[table.last].time {
            return false
        }
        _ = table.append(entry)
        return true
    }

    /// The ids that are known, the oldest first, for tests to compare.
    var known: [RequestEntry] {
        var found: [RequestEntry] = []
        var slot = table.first
        while slot != 0 {
            let entry = table[slot]
            slot = entry.next
            guard isKnown(entry) else { continue }
            found.append(
                RequestEntry(key: entry.key, content: entry.content, offset: entry.offset, time: entry.time))
        }
        return found
    }
}

/// What an uncommitted record has changed.
enum RequestChange {
    /// An entry was added as the last one.
    case added
    /// The entry in the slot was this one.
    case renewed(UInt32, RequestEntry)
    /// It was the first one.
    case removed(RequestEntry)
    /// The newest timestamp was this one.
    case clock(WallTime)
}

/// How a checkpoint stores an entry: by the offset of its last record, so that entries are stored in the order of the table,
/// and what is new goes to the end.
package struct RequestOffset: CheckpointKey {
    package static let size = 8
    private let bytes: UInt64

    init(_ offset: Int64) { bytes = UInt64(bitPattern: offset).bigEndian }

    package func write(to target: UnsafeMutableRawPointer) {
        target.storeBytes(of: bytes, as: UInt64.self)
    }
}
