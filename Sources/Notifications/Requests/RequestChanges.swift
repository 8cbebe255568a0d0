/// What the next checkpoint of a partition has to write: the entries that are not stored, which are the last ones, and the
/// offsets of those that are stored and gone. One owner.
struct RequestChanges {
    /// The entries with an offset below it are stored.
    private var storedBelow: Int64
    /// The slot of the first entry that is not; 0 where all are.
    private var firstNew: UInt32 = 0
    private var removed: [Int64] = []

    init(storedBelow: Int64) { self.storedBelow = storedBelow }

    /// The last entry is new.
    mutating func append(_ slot: UInt32) {
        if firstNew == 0 { firstNew = slot }
    }

    /// Before an entry is removed, or becomes the last one.
    mutating func remove(_ entry: RequestEntry, _ slot: UInt32) {
        if entry.offset < storedBelow { removed.append(entry.offset) }
        if slot == firstNew { firstNew = entry.next }
    }

    /// Before the last entry goes back to where it was, or to nowhere.
    mutating func takeBack(_ slot: UInt32) {
        if slot == firstNew { firstNew = 0 }
    }

    /// After an entry went back to where it was.
    mutating func restore(_ entry: RequestEntry, _ slot: UInt32, in table: borrowing RequestTable) {
        if entry.offset < storedBelow {
            // Changes are taken back in the reverse order.
            removed.removeLast()
        } else if firstNew == 0 || entry.offset < table[firstNew].offset {
            firstNew = slot
        }
    }

    mutating func takeRemoved() -> Int64? { removed.popLast() }

    /// The next entry to store.
    mutating func take(in table: borrowing RequestTable) -> UInt32? {
        guard firstNew != 0 else { return nil }
        let slot = firstNew
        let entry = table[slot]
        storedBelow = entry.offset + 1
        firstNew = entry.next
        return slot
    }
}
