/// A partition of the subscriptions that this process owns. Changed in place.
final class BroadcastPartition {
    let number: Int32
    let table: ChannelTable
    /// What the group has.
    private(set) var committed: BroadcastOffset
    /// What the open transaction will commit.
    var next: BroadcastOffset
    /// So many leavers are known at most.
    static let mostLeavers = 10_000
    /// Everything below this offset that says that somebody leaves is known: what was taken, and what was only looked at.
    var ahead: Int64
    /// By device, the latest record by which it leaves, of those that the group has not committed.
    private(set) var leavers: [ChannelKey: Int64] = [:]

    /// While its table is brought up to the committed offset: everything below was folded.
    var folded: Int64?

    init(_ number: Int32, committed: BroadcastOffset, table: ChannelTable) {
        self.number = number
        self.table = table
        self.committed = committed
        next = committed
        ahead = committed.offset
    }

    var hasRoomForLeavers: Bool { leavers.count < Self.mostLeavers }

    func leaves(_ key: ChannelKey, at offset: Int64) {
        leavers[key] = max(leavers[key] ?? offset, offset)
    }

    /// Whether a device that joined at an offset is known to have left since.
    func hasLeft(_ key: ChannelKey, since offset: Int64) -> Bool { leavers[key].map { $0 > offset } ?? false }

    /// The offset below which broadcasts are sent to joiners.
    var lateBelow: Int64 { next.pass == nil ? next.broadcast : next.broadcast + 1 }

    func commit() {
        committed = next
        table.commit()
        if !leavers.isEmpty { leavers = leavers.filter { $0.value >= committed.offset } }
    }

    func abort() {
        next = committed
        table.abort()
    }
}
