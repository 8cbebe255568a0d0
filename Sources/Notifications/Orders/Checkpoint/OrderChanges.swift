/// What the next checkpoint of a partition has to write: the blocks of orders that have changed, and the keys of those that were
/// removed. Some twenty bytes for each order at most, however many events there are. One owner.
///
/// A block is listed when its order changes for the first time, and when a changed order moves to another one. An entry counts
/// if its block is then an order's that has changed.
struct OrderChanges {
    private var blocks: [UInt32] = []
    /// Of orders that are stored. They are written first, since an order that was removed may be there again.
    private var removed: [OrderKey] = []
    /// The blocks before this one have been taken, and those before `sorted` are in the order of their keys.
    private var next = 0
    private var sorted = 0

    var usedBytes: Int { blocks.count * MemoryLayout<UInt32>.stride + removed.count * OrderKey.size }

    mutating func append(_ block: UInt32, in table: borrowing OrderTable) {
        blocks.append(block)
        if blocks.count > 2 * table.count + 1_024 { list(table) }
    }

    mutating func append(removed key: OrderKey) { removed.append(key) }

    /// Lists every changed order once: others have been listed, or the blocks have other names.
    mutating func list(_ table: borrowing OrderTable) {
        blocks.removeAll(keepingCapacity: true)
        (next, sorted) = (0, 0)
        table.visit { name, block in
            if block.header.flags.contains(.isDirty) { blocks.append(name) }
        }
    }

    /// If there is more than one slice may have, sorts it in the order of the store's keys: otherwise each slice would write
    /// nearly all of the store's pages.
    mutating func sort(over limit: Int, in table: borrowing OrderTable) {
        if removed.count > limit { removed.sort(by: >) }
        guard next >= sorted, blocks.count - next > limit else { return }
        var ranked: [(key: OrderKey, block: UInt32)] = []
        for block in blocks[next...] where table.isChanged(block) {
            ranked.append((OrderKey(of: table.block(block).id), block))
        }
        ranked.sort { $0.key < $1.key }
        blocks = ranked.map(\.block)
        (next, sorted) = (0, blocks.count)
    }

    mutating func takeRemoved() -> OrderKey? { removed.popLast() }

    /// The next block of an order that has changed.
    mutating func take(in table: borrowing OrderTable) -> UInt32? {
        while next < blocks.count {
            let block = blocks[next]
            next += 1
            if table.isChanged(block) { return block }
        }
        blocks.removeAll(keepingCapacity: true)
        (next, sorted) = (0, 0)
        return nil
    }
}
