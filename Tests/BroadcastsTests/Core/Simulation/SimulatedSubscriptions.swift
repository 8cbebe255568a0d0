import Notifications

/// A partition of a compacted topic of subscriptions: everything that was ever written, and what compaction has left.
///
/// A record is not compacted for so long that no broadcast is valid any more.
struct SimulatedSubscriptions {
    /// `min.compaction.lag.ms`.
    static let lag: Int64 = 150_000
    /// `delete.retention.ms`.
    static let deleteRetention: Int64 = 60_000

    struct Key: Hashable {
        var device: Int
        var channel: Int
    }

    struct Record {
        var time: WallTime
        var key: Key
        /// When the device was last seen; nil of a tombstone.
        var seen: WallTime?
        /// The record is no subscription at all: malformed, a marker, or of a transaction that was aborted.
        var isMalformed = false
        /// The value of the header, where it has one.
        var since: String?

        var isRotation: Bool {
            since.map { !$0.isEmpty && $0.count < 19 && $0.allSatisfy { "0123456789".contains($0) } } ?? false
        }
    }

    private(set) var records: [Record] = []
    private(set) var isRemoved: [Bool] = []
    /// Since when each record can be read: no transaction is open any longer at it or before it.
    private(set) var readable: [WallTime] = []
    /// When compaction first found a tombstone to be the newest of its key, by offset.
    private var horizons: [Int: WallTime] = [:]
    private(set) var removals = 0

    /// The end of what can be read.
    var end: Int64 { Int64(readable.count) }

    mutating func append(_ record: Record) {
        records.append(record)
        isRemoved.append(false)
    }

    /// What a transaction wrote does not count.
    mutating func abort(_ offsets: [Int]) {
        for offset in offsets { records[offset].isMalformed = true }
    }

    mutating func isReadable(upTo end: Int, at now: WallTime) {
        while readable.count < end { readable.append(now) }
    }

    /// The end of what could be read at a time.
    func end(at time: WallTime) -> Int64 { Int64(readable.firstIndex { $0 > time } ?? readable.count) }

    /// Removes what Kafka's cleaner removes: of what is older than the lag, all but the newest of each key, and tombstones
    /// once their retention is over.
    ///
    /// - Parameter end: what the group has not read stays: nobody is behind for as long as a broker waits.
    /// - Returns: the offsets of what was removed.
    mutating func compact(at now: WallTime, below end: Int64) -> [Int] {
        var removed: [Int] = []
        let cleanable = min(Int(end), records.firstIndex { $0.time > now - Self.lag } ?? records.count)
        var newest: [Key: Int] = [:]
        for offset in 0..<cleanable where !records[offset].isMalformed { newest[records[offset].key] = offset }
        for offset in 0..<cleanable where !isRemoved[offset] && !records[offset].isMalformed {
            if newest[records[offset].key] != offset {
                removed.append(offset)
            } else if records[offset].seen == nil {
                let horizon = horizons[offset] ?? now + Self.deleteRetention
                horizons[offset] = horizon
                if horizon <= now { removed.append(offset) }
            }
        }
        for offset in removed { isRemoved[offset] = true }
        removals += removed.count
        return removed
    }
}
