import Digests
import Events
import Glibc
import NotificationPayload
import StateStore

/// Every version of every subscription that notifications.subscriptions still has. A replay uses it to find who was
/// subscribed when the table was at given offsets.
///
/// A version's key is that of the table's entry, followed by the record's partition, offset and time; an unsubscription
/// has an empty value. A record that is not a subscription changes nothing, as in the table. One owner, one thread.
package final class SubscriptionHistory {
    private struct Place {
        var partition: Int32
        var offset: Int64
        var time: Int64
    }

    /// Which of a device's versions counts.
    package enum View: String, CaseIterable, Sendable {
        /// The newest version below the table's offsets.
        case asOfEvent = "as-of-event"
        /// The newest version.
        case now
        /// The version at the time of the event, if the device is still subscribed.
        case both

        /// Whether it depends on how far the table was.
        package var dependsOnTablePosition: Bool {
            switch self {
            case .asOfEvent, .both: true
            case .now: false
            }
        }
    }

    static let keyCount = TableEntry.keyCount + 20
    private static let flushLimit = 20_000

    private let store: any OrderedStore
    private var changes = SubscriptionChanges()
    private var places: [Place] = []

    /// - Parameter store: an empty store, used by nobody else.
    package init(store: any OrderedStore) {
        self.store = store
    }

    /// Adds a record, in any order.
    ///
    /// - Parameter time: the record's timestamp, in milliseconds since 1970.
    package func append(_ record: SubscriptionRecord, at time: Int64) throws(SubscriptionTableError) {
        let count = changes.count
        changes.append(record)
        guard changes.count > count else { return }
        places.append(Place(partition: record.partition, offset: record.offset, time: time))
        if places.count >= Self.flushLimit { try flush() }
    }

    /// Writes the added records. Call it before ``makeReader(_:)``.
    package func flush() throws(SubscriptionTableError) {
        guard !places.isEmpty else { return }
        do throws(StoreError) {
            try write()
        } catch {
            throw SubscriptionTableError(error)
        }
        changes.removeAll()
        places.removeAll(keepingCapacity: true)
    }

    private func write() throws(StoreError) {
        let order = places.indices.sorted { first, second in
            let difference = Self.order(changes.key(first), changes.key(second))
            return difference == 0 ? first < second : difference < 0
        }
        var key = [UInt8](repeating: 0, count: Self.keyCount)
        try store.write { writer throws(StoreError) in
            for index in order {
                Self.write(changes.key(index), places[index], to: &key)
                let value = changes.value(index) ?? UnsafeRawBufferPointer(start: nil, count: 0)
                try key.withBytes { key throws(StoreError) in try writer.put(key, value) }
            }
        }
    }

    /// A reader of the records flushed so far.
    package func makeReader(_ view: View) throws(SubscriptionTableError) -> SubscriptionHistoryReader {
        do throws(StoreError) {
            return try SubscriptionHistoryReader(store.makeReader(), view)
        } catch {
            throw SubscriptionTableError(error)
        }
    }

    private static func order(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int32 {
        guard let first = left.baseAddress, let second = right.baseAddress else { return 0 }
        return memcmp(first, second, TableEntry.keyCount)
    }

    private static func write(
        _ entry: UnsafeRawBufferPointer, _ place: Place, to key: inout [UInt8]
    ) {
        key.withUnsafeMutableBytes { key in
            key.copyMemory(from: entry)
            key.storeBytes(
                of: UInt32(bitPattern: place.partition).bigEndian, toByteOffset: TableEntry.keyCount, as: UInt32.self)
            key.storeBytes(
                of: UInt64(bitPattern: place.offset).bigEndian, toByteOffset: TableEntry.keyCount + 4, as: UInt64.self)
            key.storeBytes(
                of: UInt64(bitPattern: place.time).bigEndian, toByteOffset: TableEntry.keyCount + 12, as: UInt64.self)
        }
    }
}

/// Reads a ``SubscriptionHistory`` instead of the table: the same devices in the same order.
package final class SubscriptionHistoryReader {
    /// The next offset, by partition of the subscriptions topic, of the table that the transaction saw.
    package var positions: [Int64] = []
    package let view: SubscriptionHistory.View
    private let reader: any StoreReader
    private let prefix = UnsafeMutableRawPointer.allocate(byteCount: 32, alignment: 16)
    private var versions: [StoreEntry] = []

    init(_ reader: any StoreReader, _ view: SubscriptionHistory.View) throws(StoreError) {
        try reader.begin()
        self.reader = reader
        self.view = view
    }

    deinit {
        prefix.deallocate()
        reader.end()
    }

    /// The same as ``TableReader/addDevices(of:as:limit:to:)``, but the devices point into the store and stay valid.
    package func addDevices(
        of audience: UnsafeRawBufferPointer, as index: Int32, limit: Int, to list: inout DeviceList
    ) throws(SubscriptionTableError) {
        TableEntry.writeAudience(audience, to: prefix)
        versions.removeAll(keepingCapacity: true)
        do throws(StoreError) {
            try reader.append(
                startingWith: UnsafeRawBufferPointer(start: prefix, count: TableEntry.audienceCount), limit: .max,
                to: &versions)
        } catch {
            throw SubscriptionTableError(error)
        }
        var next = 0
        var count = 0
        while next < versions.count, count <= limit {
            let first = next
            let key = Self.entryKey(versions[first])
            repeat { next += 1 } while next < versions.count && sameBytes(Self.entryKey(versions[next]), key)
            guard let version = version(among: first..<next) else { continue }
            let entry = StoreEntry(key: Self.entryKey(version), value: version.value)
            guard let device = TableEntry.device(entry, audience: index) else { throw .foreign }
            list.append(device)
            count += 1
        }
    }

    /// Every version of one device's subscription to an audience, in the order of the log.
    ///
    /// - Parameter tokenHash: the SHA-256 of its token, 64 lower-case hex digits.
    package func versions(
        of audience: String, tokenHash: String
    ) throws(SubscriptionTableError) -> [SubscriptionVersion] {
        var key = [UInt8](repeating: 0, count: TableEntry.keyCount)
        let isHash = key.withUnsafeMutableBytes { key in
            guard let start = key.baseAddress else { return false }
            Array(audience.utf8).withUnsafeBytes { TableEntry.writeAudience($0, to: prefix) }
            start.copyMemory(from: prefix, byteCount: TableEntry.audienceCount)
            return Array(tokenHash.utf8).withUnsafeBytes { Hex.read($0, to: start + TableEntry.audienceCount) }
        }
        guard isHash else { return [] }
        versions.removeAll(keepingCapacity: true)
        do throws(StoreError) {
            try key.withBytes { key throws(StoreError) in
                try reader.append(startingWith: key, limit: .max, to: &versions)
            }
        } catch {
            throw SubscriptionTableError(error)
        }
        return versions.map { version in
            let entry = StoreEntry(key: Self.entryKey(version), value: version.value)
            return SubscriptionVersion(
                time: Int64(
                    bitPattern: UInt64(
                        bigEndian: version.key.loadUnaligned(
                            fromByteOffset: TableEntry.keyCount + 12, as: UInt64.self))),
                isSubscribed: !version.value.isEmpty, isBelowPositions: isBelowPositions(version),
                lastSeen: TableEntry.device(entry, audience: 0)?.lastSeen)
        }
    }

    /// The version of one device that counts; nil if the device is not subscribed.
    private func version(among range: Range<Int>) -> StoreEntry? {
        var then: StoreEntry?
        for index in range where isBelowPositions(versions[index]) { then = versions[index] }
        let newest = versions[range.upperBound - 1]
        let found: StoreEntry? =
            switch view {
            case .asOfEvent: then
            case .now: newest
            case .both: newest.value.isEmpty ? nil : then
            }
        return found.flatMap { $0.value.isEmpty ? nil : $0 }
    }

    private func isBelowPositions(_ version: StoreEntry) -> Bool {
        let partition = UInt32(
            bigEndian: version.key.loadUnaligned(fromByteOffset: TableEntry.keyCount, as: UInt32.self))
        let offset = UInt64(
            bigEndian: version.key.loadUnaligned(fromByteOffset: TableEntry.keyCount + 4, as: UInt64.self))
        return Int(partition) < positions.count && offset < UInt64(bitPattern: positions[Int(partition)])
    }

    private static func entryKey(_ version: StoreEntry) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: version.key[..<TableEntry.keyCount])
    }
}

/// One record of a device's subscription.
package struct SubscriptionVersion: Equatable, Sendable {
    /// The record's timestamp, in milliseconds since 1970.
    package var time: Int64
    package var isSubscribed: Bool
    /// Whether the table had it at the reader's positions.
    package var isBelowPositions: Bool
    package var lastSeen: WallTime?
}
