import StateStore

/// The latest notification of each order at a place, in a scratch store. One owner, one thread.
final class LatestPushes {
    private static let flushLimit = 50_000

    /// Position of a notification: a later one replaces an earlier one.
    struct Rank: Equatable {
        var partition: Int32
        var offset: Int64
        /// Timers at an offset come before the record there.
        var isTimer: Bool
        var time: Int64

        /// By offset within a partition; across partitions, if an order's events went to several, by time.
        func isBefore(_ other: Rank) -> Bool {
            if partition == other.partition {
                return (offset, isTimer ? 0 : 1) < (other.offset, other.isTimer ? 0 : 1)
            }
            return (time, partition) < (other.time, other.partition)
        }
    }

    private struct Latest {
        var rank: Rank
        var notification: Digest
    }

    private let store: any OrderedStore
    private let reader: any StoreReader
    private var pending: [Digest: Latest] = [:]

    /// - Parameter store: empty, and used by nobody else.
    init(store: any OrderedStore) throws(StoreError) {
        self.store = store
        reader = try store.makeReader()
    }

    /// Takes notifications of an order in any sequence.
    func note(_ notification: Digest, of order: Digest, _ rank: Rank) throws(StoreError) {
        if let known = pending[order], rank.isBefore(known.rank) { return }
        pending[order] = Latest(rank: rank, notification: notification)
        if pending.count >= Self.flushLimit { try flush() }
    }

    /// Writes what was added. Call it before querying.
    func flush() throws(StoreError) {
        let entries = pending.map { (key: $0.key.bytes, latest: $0.value) }
            .sorted { $0.key.lexicographicallyPrecedes($1.key) }
        reader.end()
        try store.write { writer throws(StoreError) in
            for (key, latest) in entries {
                try key.withStored { key throws(StoreError) in
                    if let known = try writer.value(for: key), latest.rank.isBefore(Self.decode(known).rank) { return }
                    try Self.encode(latest).withStored { value throws(StoreError) in try writer.put(key, value) }
                }
            }
        }
        pending.removeAll()
        try reader.begin()
    }

    /// Whether no later notification of the order is known.
    func isLatest(_ notification: Digest, of order: Digest) throws(StoreError) -> Bool {
        var found: Latest?
        try order.bytes.withStored { key throws(StoreError) in found = try reader.value(for: key).map(Self.decode) }
        return found?.notification == notification
    }

    private static func encode(_ latest: Latest) -> [UInt8] {
        let rank = latest.rank
        return bigEndian(UInt32(bitPattern: rank.partition)) + bigEndian(UInt64(bitPattern: rank.offset))
            + bigEndian(UInt64(bitPattern: rank.time)) + [rank.isTimer ? 1 : 0] + latest.notification.bytes
    }

    private static func decode(_ bytes: UnsafeRawBufferPointer) -> Latest {
        func number(_ place: Int) -> Int64 {
            Int64(bitPattern: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)))
        }
        let partition = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt32.self))
        return Latest(
            rank: Rank(
                partition: Int32(bitPattern: partition), offset: number(4), isTimer: bytes[20] == 1, time: number(12)),
            notification: Digest(UnsafeRawBufferPointer(rebasing: bytes[21...])))
    }
}
