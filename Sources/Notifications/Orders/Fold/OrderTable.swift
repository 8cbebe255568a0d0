import NotificationPayload

/// The orders of one partition by id: blocks in an arena, found by open addressing.
///
/// The table doubles when it is three quarters full. A removal moves the following entries back and leaves no marker.
/// The order of the entries is arbitrary. One owner.
package struct OrderTable: ~Copyable {
    private struct Entry {
        var hash: UInt32
        /// 0: none.
        var block: UInt32
    }

    /// The result of a lookup, which keeps the id's hash so that it is computed once.
    struct Match {
        fileprivate let hash: UInt32
        /// 0: there is no order with this id.
        let name: UInt32

        static let nothing = Match(hash: 0, name: 0)
    }

    private var arena = OrderArena()
    private var entries: [Entry]
    private(set) var count = 0
    /// The size of all ids, in bytes.
    private var idBytes = 0

    private static let smallest = 64

    init() {
        entries = Array(repeating: Entry(hash: 0, block: 0), count: Self.smallest)
    }

    /// The memory taken from the system, in bytes.
    var reservedBytes: Int { arena.reservedBytes + entries.count * MemoryLayout<Entry>.stride }
    /// The part of it that the orders use, in bytes, with their share of the index.
    var usedBytes: Int { arena.usedBytes + entries.count * MemoryLayout<Entry>.stride }

    /// What the orders count as against the limit: a function of which they are, and of nothing else (ADR 52).
    var countedBytes: Int { count * OrderBlock.countedSize + idBytes }

    /// Moves the blocks together where more than a fifth of the memory is free blocks of sizes that nobody needs.
    ///
    /// - Returns: whether it did; the orders then have other names.
    mutating func compactIfSparse() -> Bool {
        guard arena.reservedBytes > arena.usedBytes + arena.usedBytes / 4 + Self.tolerableWaste else { return false }
        var fresh = OrderArena()
        for index in entries.indices where entries[index].block != 0 {
            let block = block(entries[index].block)
            let size = block.size
            let name = fresh.allocate(units: OrderArena.units(for: size))
            fresh.address(of: name).copyMemory(from: block.base, byteCount: size)
            entries[index].block = name
        }
        arena = fresh
        return true
    }

    private static let tolerableWaste = 4 << 20

    package func block(_ name: UInt32) -> OrderBlock { OrderBlock(arena.address(of: name)) }

    /// Whether a block is that of an order that has changed since the last checkpoint.
    func isChanged(_ name: UInt32) -> Bool {
        let header = block(name).header
        return header.lastOffset >= 0 && header.flags.contains(.isDirty)
    }

    /// The order is as the checkpoint has it.
    mutating func markStored(_ name: UInt32) {
        let header = arena.address(of: name).assumingMemoryBound(to: OrderHeader.self)
        header.pointee.flags.remove(.isDirty)
        header.pointee.flags.insert(.isStored)
    }

    func find(_ id: UnsafeRawBufferPointer) -> Match {
        let hash = Self.hash(id)
        var slot = Int(hash) & (entries.count - 1)
        while entries[slot].block != 0 {
            if entries[slot].hash == hash, sameBytes(block(entries[slot].block).id, id) {
                return Match(hash: hash, name: entries[slot].block)
            }
            slot = (slot + 1) & (entries.count - 1)
        }
        return Match(hash: hash, name: 0)
    }

    /// Replaces the order that the lookup found, or adds a new one if it found none.
    ///
    /// The texts of the draft must not be in the block that it replaces.
    ///
    /// - Returns: the name of its block.
    @discardableResult
    mutating func write(_ draft: inout OrderDraft, replacing existing: Match) -> UInt32 {
        let units = OrderArena.units(for: draft.size)
        if existing.name != 0 {
            let before = OrderArena.units(for: block(existing.name).size)
            if before == units {
                draft.write(to: arena.address(of: existing.name))
                return existing.name
            }
            let slot = slot(of: existing.name, hash: existing.hash)
            release(existing.name, units: before)
            let moved = arena.allocate(units: units)
            draft.write(to: arena.address(of: moved))
            entries[slot].block = moved
            return moved
        }
        if (count + 1) * 4 > entries.count * 3 { grow() }
        let new = arena.allocate(units: units)
        draft.write(to: arena.address(of: new))
        insert(Entry(hash: existing.hash, block: new))
        count += 1
        idBytes += draft.id.count
        return new
    }

    /// A freed block is no order's any more, whoever still knows its name.
    private mutating func release(_ name: UInt32, units: Int) {
        arena.address(of: name).assumingMemoryBound(to: OrderHeader.self).pointee.lastOffset = -1
        arena.release(name, units: units)
    }

    mutating func remove(_ name: UInt32) {
        var hole = slot(of: name, hash: Self.hash(block(name).id))
        idBytes -= block(name).id.count
        release(name, units: OrderArena.units(for: block(name).size))
        count -= 1
        let mask = entries.count - 1
        var slot = (hole + 1) & mask
        while entries[slot].block != 0 {
            let home = Int(entries[slot].hash) & mask
            // It may move back no further than its home slot.
            if (slot - home) & mask >= (slot - hole) & mask {
                entries[hole] = entries[slot]
                hole = slot
            }
            slot = (slot + 1) & mask
        }
        entries[hole].block = 0
    }

    /// Calls `body` for every order; the table must not change meanwhile.
    func visit(_ body: (UInt32, OrderBlock) -> Void) {
        for entry in entries where entry.block != 0 { body(entry.block, block(entry.block)) }
    }

    /// Whether the next insertion needs a larger index.
    var isFull: Bool { (count + 1) * 4 > entries.count * 3 }

    private func slot(of name: UInt32, hash: UInt32) -> Int {
        var slot = Int(hash) & (entries.count - 1)
        while entries[slot].block != name { slot = (slot + 1) & (entries.count - 1) }
        return slot
    }

    private mutating func insert(_ entry: Entry) {
        var slot = Int(entry.hash) & (entries.count - 1)
        while entries[slot].block != 0 { slot = (slot + 1) & (entries.count - 1) }
        entries[slot] = entry
    }

    mutating func growIfHalfFull() {
        if count * 2 > entries.count { grow() }
    }

    private mutating func grow() {
        let old = entries
        entries = Array(repeating: Entry(hash: 0, block: 0), count: old.count * 2)
        for entry in old where entry.block != 0 { insert(entry) }
    }

    /// Seeded per process, so that nobody can choose ids that collide; no output depends on it.
    private static func hash(_ id: UnsafeRawBufferPointer) -> UInt32 {
        var hasher = Hasher()
        hasher.combine(bytes: id)
        return UInt32(truncatingIfNeeded: hasher.finalize())
    }
}
