/// What the uncommitted events have changed in a state, so that an abort can roll them back.
///
/// Events are numbered in the order in which they arrive. Reuses its memory from transaction to transaction.
struct UndoItems<Entry> {
    private struct Item {
        var event: Int
        var partition: Int32
        var entry: Entry
    }

    private var items: [Item] = []
    /// The items before this one are committed.
    private var first = 0
    private var event = 0

    var isEmpty: Bool { first == items.count }

    /// The following items belong to the next event.
    mutating func beginEvent() { event += 1 }

    mutating func append(_ entry: Entry, of partition: Int32) {
        items.append(Item(event: event, partition: partition, entry: entry))
    }

    /// Commits everything except the newest `open` events.
    mutating func commit(keeping open: Int) {
        while first < items.count, items[first].event <= event - open { first += 1 }
        if isEmpty { removeAll() }
    }

    /// Calls `body` for the uncommitted items, latest first, and removes them.
    mutating func takeBack(_ body: (_ partition: Int32, Entry) -> Void) {
        for item in items[first...].reversed() { body(item.partition, item.entry) }
        removeAll()
    }

    private mutating func removeAll() {
        first = 0
        items.removeAll(keepingCapacity: true)
    }
}
