import Digests
import Glibc
import NotificationPayload

/// The timers of a partition that a tick has still to send, in the order in which they fire: by time, then by the hash
/// of the order id, then by the id itself (ADR 31).
///
/// The state decides: an entry whose order has moved, or was cancelled, is skipped when its turn comes. About 70 bytes
/// per timer.
package struct DueIndex: ~Copyable {
    struct Entry {
        var due: WallTime
        var hash: StoredHash
        fileprivate var id: Int
        fileprivate var idCount: UInt16
        var kind: TimerKind
    }

    /// T of the tick.
    let until: WallTime
    private var entries: [Entry] = []
    /// The entries before this one have been processed.
    package private(set) var next = 0
    /// The entries before this one are sorted.
    private var sorted = 0
    private var ids = ByteWriter(capacity: 4 << 10)

    init(until: WallTime) {
        self.until = until
    }

    var count: Int { entries.count }

    func entry(_ index: Int) -> Entry { entries[index] }

    /// The watermark at which this entry is the last one processed; nil after the last entry.
    func watermark(at index: Int) -> TimerWatermark? {
        index < entries.count ? TimerWatermark(due: entries[index].due, hash: entries[index].hash) : nil
    }

    func withID<Value>(of entry: Entry, _ body: (UnsafeRawBufferPointer) -> Value) -> Value { body(id(of: entry)) }

    mutating func append(due: WallTime, hash: StoredHash, kind: TimerKind, id: UnsafeRawBufferPointer) {
        entries.append(
            Entry(due: due, hash: hash, id: ids.count, idCount: UInt16(truncatingIfNeeded: id.count), kind: kind))
        ids.append(id)
    }

    /// The entries before this one have been processed.
    package mutating func pass(to index: Int) { next = index }

    /// Sorts the added entries in; a timer that is listed already is not listed twice.
    mutating func sort() {
        guard sorted < entries.count else { return }
        var left = Array(entries[next...])
        left.sort { isBefore($0, $1) }
        entries = []
        entries.reserveCapacity(left.count)
        for entry in left {
            if let last = entries.last, !isBefore(last, entry) { continue }
            entries.append(entry)
        }
        next = 0
        sorted = entries.count
    }

    private func isBefore(_ first: Entry, _ second: Entry) -> Bool {
        if first.due != second.due { return first.due < second.due }
        if first.hash != second.hash { return first.hash < second.hash }
        let (left, right) = (id(of: first), id(of: second))
        let difference = memcmp(left.baseAddress!, right.baseAddress!, min(left.count, right.count))
        if difference != 0 { return difference < 0 }
        return (left.count, first.kind.rawValue) < (right.count, second.kind.rawValue)
    }

    private func id(of entry: Entry) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: ids.bytes[entry.id..<entry.id + Int(entry.idCount)])
    }
}
