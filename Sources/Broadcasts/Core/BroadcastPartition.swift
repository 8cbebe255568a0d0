/// A partition of the subscriptions that this process owns. Changed in place.
final class BroadcastPartition {
    let number: Int32
    let table: ChannelTable
    /// What the group has.
    private(set) var committed: BroadcastOffset
    /// What the open transaction will commit.
    var next: BroadcastOffset
    /// While its table is brought up to the committed offset: everything below was folded.
    var folded: Int64?

    init(_ number: Int32, committed: BroadcastOffset, table: ChannelTable) {
        self.number = number
        self.table = table
        self.committed = committed
        next = committed
    }

    /// The offset below which broadcasts are sent to joiners.
    var lateBelow: Int64 { next.pass == nil ? next.broadcast : next.broadcast + 1 }

    func commit() {
        committed = next
        table.commit()
    }

    func abort() {
        next = committed
        table.abort()
    }
}
