import NotificationPayload

/// The state of orders before the uncommitted events, so that an abort can roll them back.
///
/// Events are numbered in the order in which they arrive. Reuses its memory from transaction to transaction.
struct UndoLog: ~Copyable {
    enum Entry {
        /// The order had this block.
        case changed(text: Range<Int>)
        /// There was no order with this id.
        case added(id: Range<Int>)
        case clock(newest: WallTime, watermark: TimerWatermark)
    }

    private struct Item {
        var event: Int
        var partition: Int32
        var entry: Entry
    }

    private var items: [Item] = []
    private var text = ByteWriter(capacity: 64 << 10)
    /// The items before this one are committed.
    private var first = 0
    private var event = 0

    var isEmpty: Bool { first == items.count }

    /// The following items belong to the next event.
    mutating func beginEvent() { event += 1 }

    mutating func noteClock(newest: WallTime, watermark: TimerWatermark, of partition: Int32) {
        items.append(Item(event: event, partition: partition, entry: .clock(newest: newest, watermark: watermark)))
    }

    mutating func noteAdded(_ id: UnsafeRawBufferPointer, to partition: Int32) {
        items.append(Item(event: event, partition: partition, entry: .added(id: append(id))))
    }

    /// - Returns: a copy of the block, valid until the next call.
    mutating func noteChanged(_ block: OrderBlock, of partition: Int32) -> OrderBlock {
        let range = append(UnsafeRawBufferPointer(start: block.base, count: block.size))
        items.append(Item(event: event, partition: partition, entry: .changed(text: range)))
        return OrderBlock(text.bytes.baseAddress! + range.lowerBound)
    }

    /// Commits everything except the newest `open` events.
    mutating func commit(keeping open: Int) {
        while first < items.count, items[first].event <= event - open { first += 1 }
        guard first == items.count else { return }
        removeAll()
    }

    mutating func removeAll() {
        first = 0
        items.removeAll(keepingCapacity: true)
        text.removeAll()
    }

    /// Calls `body` for the uncommitted items, latest first, and removes them.
    mutating func takeBack(_ body: (Int32, Entry, UnsafeRawBufferPointer) -> Void) {
        for item in items[first...].reversed() { body(item.partition, item.entry, text.bytes) }
        removeAll()
    }

    private mutating func append(_ bytes: UnsafeRawBufferPointer) -> Range<Int> {
        let start = text.count
        text.append(bytes)
        return start..<text.count
    }
}
