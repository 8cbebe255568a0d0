import Digests
import Glibc
import JSONReader
import NotificationPayload
import StateStore

/// Records of notifications.subscriptions on their way into the table: checked, packed, and sorted when they are
/// applied.
///
/// A million devices load several times faster sorted than one by one. One owner; reuses its memory.
package struct SubscriptionChanges: ~Copyable {
    private struct Change {
        /// The key's first bytes as a number, which decides nearly every comparison of the sort.
        var order: UInt64
        /// Where its key starts; the value, if any, follows.
        var start: Int
        /// Nil removes the device.
        var valueCount: Int?
    }

    /// The malformed records with a description; all are counted.
    private static let mostExamples = 10

    private var bytes = ByteWriter(capacity: 64 * 1_024)
    private var changes: [Change] = []
    /// The records that were skipped.
    package private(set) var malformed = 0
    private var examples: [MalformedSubscription] = []
    private var misplaced = 0
    private var misplacedExample: MisplacedSubscription?
    private var reader = JSONReader()

    package init() {}

    /// The number of well-formed changes.
    package var count: Int { changes.count }
    /// The memory of these changes.
    package var byteCount: Int { bytes.count + changes.count * MemoryLayout<Change>.stride }

    /// Adds a record; the last record of a key counts. A malformed or misplaced record is counted, described by hashes,
    /// and skipped.
    package mutating func append(_ record: SubscriptionRecord) {
        switch record.partitioning {
        case .right: break
        case .misplaced: return noteMisplaced(record)
        case .ended: return
        }
        guard let key = SubscriptionKey.View(record.key) else {
            skip(record, [SubscriptionKey.problem])
            return
        }
        withUnsafeTemporaryAllocation(byteCount: TableEntry.keyCount, alignment: 8) { tableKey in
            guard let target = tableKey.baseAddress else { return }
            TableEntry.writeKey(key, to: target)
            let entry = UnsafeRawBufferPointer(tableKey)
            if let value = record.value {
                upsert(record, key, entry, value)
            } else {
                add(entry, valueCount: nil)
            }
        }
    }

    package mutating func removeAll() {
        bytes.removeAll()
        changes.removeAll(keepingCapacity: true)
        malformed = 0
        examples.removeAll()
        misplaced = 0
        misplacedExample = nil
    }

    private mutating func upsert(
        _ record: SubscriptionRecord, _ key: SubscriptionKey.View, _ entry: UnsafeRawBufferPointer,
        _ value: UnsafeRawBufferPointer
    ) {
        let document: JSONValue
        do {
            document = try reader.parse(value)
        } catch {
            skip(record, ["the value is not JSON"])
            return
        }
        var fields = SubscriptionFields(document)
        if fields.problems.isEmpty, !TableEntry.isKey(key, entry, of: fields) {
            fields.add("the key does not belong to the value's audience and token")
        }
        guard fields.problems.isEmpty, let platform = fields.platform else {
            skip(record, fields.problems)
            return
        }
        let start = bytes.count
        add(entry, valueCount: 0)
        TableEntry.append(fields, platform, command: record.command, to: &bytes)
        changes[changes.count - 1].valueCount = bytes.count - start - TableEntry.keyCount
    }

    private mutating func add(_ key: UnsafeRawBufferPointer, valueCount: Int?) {
        let order = UInt64(bigEndian: key.loadUnaligned(as: UInt64.self))
        changes.append(Change(order: order, start: bytes.count, valueCount: valueCount))
        bytes.append(key)
    }

    private mutating func skip(_ record: SubscriptionRecord, _ problems: [String]) {
        malformed += 1
        guard examples.count < Self.mostExamples else { return }
        examples.append(
            MalformedSubscription(
                partition: record.partition, offset: record.offset, keyHash: Self.keyHash(of: record),
                problems: problems))
    }

    private mutating func noteMisplaced(_ record: SubscriptionRecord) {
        misplaced += 1
        guard misplacedExample == nil else { return }
        misplacedExample = MisplacedSubscription(
            partition: record.partition, offset: record.offset, keyHash: Self.keyHash(of: record))
    }

    private static func keyHash(of record: SubscriptionRecord) -> String {
        SHA256.withHash(of: record.key ?? UnsafeRawBufferPointer(start: nil, count: 0)) { Hex.string($0) }
    }

    /// Writes the changes into a transaction in the order of their keys; of each key the last one.
    mutating func write(to writer: any StoreWriter) throws(StoreError) -> SubscriptionTableChange {
        var summary = SubscriptionTableChange()
        addSkipped(to: &summary)
        try forEachInOrder { key, value throws(StoreError) in
            if let value {
                try writer.put(key, value)
                summary.upserts += 1
            } else {
                summary.removals += try writer.remove(key) ? 1 : 0
            }
        }
        return summary
    }

    /// Writes the changes into a run.
    mutating func write(to run: inout RunWriter) throws(StoreError) {
        try forEachInOrder { key, value throws(StoreError) in try run.add(key, value) }
    }

    /// Adds the records that were skipped.
    func addSkipped(to summary: inout SubscriptionTableChange) {
        summary.malformed += malformed
        summary.misplaced += misplaced
        summary.misplacedExample = summary.misplacedExample ?? misplacedExample
        summary.examples += examples.prefix(max(0, Self.mostExamples - summary.examples.count))
    }

    /// The changes in the order of their keys; of each key the last one.
    private mutating func forEachInOrder(
        _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer?) throws(StoreError) -> Void
    ) throws(StoreError) {
        sort()
        for index in changes.indices {
            let key = self.key(index)
            if index + 1 < changes.count, sameBytes(key, self.key(index + 1)) { continue }
            try body(key, value(index))
        }
    }

    /// By key, and by age for equal keys.
    private mutating func sort() {
        guard let base = bytes.bytes.baseAddress else { return }
        changes.sort { left, right in
            guard left.order == right.order else { return left.order < right.order }
            let difference = memcmp(base + left.start, base + right.start, TableEntry.keyCount)
            return difference == 0 ? left.start < right.start : difference < 0
        }
    }

    /// The table's key for a change.
    package func key(_ index: Int) -> UnsafeRawBufferPointer {
        let start = changes[index].start
        return UnsafeRawBufferPointer(rebasing: bytes.bytes[start..<start + TableEntry.keyCount])
    }

    /// The value that a change writes; nil if it removes the device.
    package func value(_ index: Int) -> UnsafeRawBufferPointer? {
        let start = changes[index].start + TableEntry.keyCount
        return changes[index].valueCount.map { UnsafeRawBufferPointer(rebasing: bytes.bytes[start..<start + $0]) }
    }
}

extension TableEntry {
    /// Writes the table's key for a record's key.
    static func writeKey(_ key: SubscriptionKey.View, to target: UnsafeMutableRawPointer) {
        writeAudience(key.audience, to: target)
        // The view has checked that these are hex digits.
        _ = Hex.read(key.tokenHash, to: target + audienceCount)
    }

    /// Writes the first 16 bytes of the audience's SHA-256. `target` must have room for 32.
    package static func writeAudience(_ audience: UnsafeRawBufferPointer, to target: UnsafeMutableRawPointer) {
        SHA256.hash(audience, into: target)
    }

    /// Whether a record's key belongs to its value: otherwise nothing could ever unsubscribe it.
    static func isKey(
        _ key: SubscriptionKey.View, _ entry: UnsafeRawBufferPointer, of fields: SubscriptionFields
    ) -> Bool {
        guard sameBytes(key.audience, fields.audience) else { return false }
        return SHA256.withHash(of: fields.token) { hash in
            sameBytes(
                UnsafeRawBufferPointer(start: hash, count: 32),
                UnsafeRawBufferPointer(rebasing: entry[audienceCount...]))
        }
    }
}
