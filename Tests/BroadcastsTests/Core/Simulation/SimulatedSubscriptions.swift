import Notifications

/// A partition of a compacted topic of subscriptions: everything that was ever written, and what compaction has left.
///
/// A minute stands for a day: a record is not compacted for 29 minutes, and a broadcast is valid for at most 28.
struct SimulatedSubscriptions {
    static let minute: Int64 = 60_000
    /// `min.compaction.lag.ms`.
    static let lag = 29 * minute
    /// `delete.retention.ms`.
    static let deleteRetention = 10 * minute

    struct Key: Hashable {
        var device: Int
        var channel: Int
    }

    struct Record {
        var time: WallTime
        var key: Key
        /// When the device was last seen; nil of a tombstone.
        var seen: WallTime?
        /// The record is no subscription at all.
        var isMalformed = false
    }

    private(set) var records: [Record] = []
    private(set) var isRemoved: [Bool] = []
    /// When compaction first found a tombstone to be the newest of its key, by offset.
    private var horizons: [Int: WallTime] = [:]
    private(set) var removals = 0

    var end: Int64 { Int64(records.count) }

    mutating func append(_ record: Record) {
        records.append(record)
        isRemoved.append(false)
    }

    /// The end of the log at a time.
    func end(at time: WallTime) -> Int64 {
        var count = records.count
        while count > 0, records[count - 1].time > time { count -= 1 }
        return Int64(count)
    }

    /// The next record that is still there.
    func next(from offset: Int64) -> Int64? {
        var offset = Int(offset)
        while offset < records.count, isRemoved[offset] { offset += 1 }
        return offset < records.count ? Int64(offset) : nil
    }

    /// Removes what Kafka's cleaner removes: of what is older than the lag, all but the newest of each key, and tombstones
    /// once their retention is over.
    mutating func compact(at now: WallTime) {
        let cleanable = records.firstIndex { $0.time > now - Self.lag } ?? records.count
        var newest: [Key: Int] = [:]
        for offset in 0..<cleanable where !records[offset].isMalformed { newest[records[offset].key] = offset }
        for offset in 0..<cleanable where !isRemoved[offset] && !records[offset].isMalformed {
            if newest[records[offset].key] != offset {
                remove(offset)
            } else if records[offset].seen == nil {
                let horizon = horizons[offset] ?? now + Self.deleteRetention
                horizons[offset] = horizon
                if horizon <= now { remove(offset) }
            }
        }
    }

    private mutating func remove(_ offset: Int) {
        isRemoved[offset] = true
        removals += 1
    }
}
