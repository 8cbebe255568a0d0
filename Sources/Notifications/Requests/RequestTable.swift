/// A request that is remembered: 48 bytes.
struct RequestEntry: Equatable {
    var key: RequestKey
    /// A checksum of the value of the last record with this key.
    var content: UInt64
    /// Of that record; no two entries of a partition have the same.
    var offset: Int64
    /// The partition's time at that record, in seconds since 1970.
    var time: UInt32
    /// The slots of the entries before and after it, by their offsets; 0 where there is none.
    fileprivate(set) var previous: UInt32 = 0
    fileprivate(set) var next: UInt32 = 0
}

/// The requests of a partition by their keys, and in the order of their last records.
///
/// An entry stays in its slot until it is removed. Slots are reused in the reverse order of their release, so that changes
/// which are taken back, latest first, find every slot as it was. One owner.
struct RequestTable: ~Copyable {
    private static let chunkShift = 12
    private static let slotsPerChunk = 1 << chunkShift

    private var chunks: [UnsafeMutablePointer<RequestEntry>] = []
    /// Slots in linear probing, 0 where there is none; its size is a power of two.
    private var index: [UInt32] = Array(repeating: 0, count: 64)
    /// The slot that was released last; its ``RequestEntry/next`` is the one before it.
    private var free: UInt32 = 0
    /// The slots before this one have been used. Slot 0 is none.
    private var unused: UInt32 = 1
    private(set) var first: UInt32 = 0
    private(set) var last: UInt32 = 0
    private(set) var count = 0

    deinit {
        for chunk in chunks { chunk.deallocate() }
    }

    private func address(_ slot: UInt32) -> UnsafeMutablePointer<RequestEntry> {
        chunks[Int(slot) >> Self.chunkShift] + Int(slot) & (Self.slotsPerChunk - 1)
    }

    subscript(slot: UInt32) -> RequestEntry { address(slot).pointee }

    /// The slot of a key; 0 where there is none.
    func find(_ key: RequestKey) -> UInt32 { index[place(of: key)] }

    // MARK: Changes

    /// Adds an entry whose key is not there, as the last one.
    mutating func append(_ entry: RequestEntry) -> UInt32 {
        let slot = take(entry)
        link(slot, after: last)
        return slot
    }

    /// Adds the entry that was the first one, and was removed.
    mutating func prepend(_ entry: RequestEntry) -> UInt32 {
        let slot = take(entry)
        link(slot, after: 0)
        return slot
    }

    /// Replaces an entry, and makes it the last one.
    mutating func renew(_ slot: UInt32, _ entry: RequestEntry) {
        unlink(slot)
        address(slot).pointee = entry
        link(slot, after: last)
    }

    /// Takes back ``renew(_:_:)``, where `entry` was before.
    mutating func restore(_ slot: UInt32, _ entry: RequestEntry) {
        unlink(slot)
        address(slot).pointee = entry
        link(slot, after: entry.previous)
    }

    mutating func remove(_ slot: UInt32) {
        unlink(slot)
        removeFromIndex(place(of: self[slot].key))
        address(slot).pointee.next = free
        free = slot
        count -= 1
    }

    // MARK: Slots

    private mutating func take(_ entry: RequestEntry) -> UInt32 {
        let slot: UInt32
        if free != 0 {
            slot = free
            free = self[slot].next
        } else {
            slot = unused
            unused += 1
            if Int(slot) >> Self.chunkShift == chunks.count { chunks.append(.allocate(capacity: Self.slotsPerChunk)) }
        }
        // An entry owns nothing that must be released.
        address(slot).initialize(to: entry)
        count += 1
        if count * 4 > index.count * 3 { grow() }
        index[place(of: entry.key)] = slot
        return slot
    }

    private mutating func link(_ slot: UInt32, after previous: UInt32) {
        let next = previous == 0 ? first : self[previous].next
        address(slot).pointee.previous = previous
        address(slot).pointee.next = next
        if previous == 0 { first = slot } else { address(previous).pointee.next = slot }
        if next == 0 { last = slot } else { address(next).pointee.previous = slot }
    }

    private mutating func unlink(_ slot: UInt32) {
        let entry = self[slot]
        if entry.previous == 0 { first = entry.next } else { address(entry.previous).pointee.next = entry.next }
        if entry.next == 0 { last = entry.previous } else { address(entry.next).pointee.previous = entry.previous }
    }

    // MARK: The index

    /// Where a key is in the index, or would be.
    private func place(of key: RequestKey) -> Int {
        var place = Int(truncatingIfNeeded: key.low) & (index.count - 1)
        while index[place] != 0, self[index[place]].key != key { place = (place + 1) & (index.count - 1) }
        return place
    }

    /// Moves what was put behind the place because it was taken.
    private mutating func removeFromIndex(_ place: Int) {
        let mask = index.count - 1
        var hole = place
        var next = (place + 1) & mask
        while index[next] != 0 {
            let home = Int(truncatingIfNeeded: self[index[next]].key.low) & mask
            if (next - home) & mask >= (next - hole) & mask {
                index[hole] = index[next]
                hole = next
            }
            next = (next + 1) & mask
        }
        index[hole] = 0
    }

    private mutating func grow() {
        let slots = index.filter { $0 != 0 }
        index = Array(repeating: 0, count: index.count * 2)
        for slot in slots { index[place(of: self[slot].key)] = slot }
    }
}
