import NotificationPayload

/// The state of orders before the uncommitted events, so that an abort can roll them back.
struct UndoLog: ~Copyable {
    enum Entry {
        /// The order had this block.
        case changed(text: Range<Int>)
        /// There was no order with this id.
        case added(id: Range<Int>)
        case clock(newest: WallTime, watermark: TimerWatermark)
    }

    private var items = UndoItems<Entry>()
    private var text = ByteWriter(capacity: 64 << 10)

    var isEmpty: Bool { items.isEmpty }

    /// The following items belong to the next event.
    mutating func beginEvent() { items.beginEvent() }

    mutating func noteClock(newest: WallTime, watermark: TimerWatermark, of partition: Int32) {
        items.append(.clock(newest: newest, watermark: watermark), of: partition)
    }

    mutating func noteAdded(_ id: UnsafeRawBufferPointer, to partition: Int32) {
        items.append(.added(id: append(id)), of: partition)
    }

    /// - Returns: a copy of the block, valid until the next call.
    mutating func noteChanged(_ block: OrderBlock, of partition: Int32) -> OrderBlock {
        let range = append(UnsafeRawBufferPointer(start: block.base, count: block.size))
        items.append(.changed(text: range), of: partition)
        return OrderBlock(text.bytes.baseAddress! + range.lowerBound)
    }

    /// Commits everything except the newest `open` events.
    mutating func commit(keeping open: Int) {
        items.commit(keeping: open)
        if items.isEmpty { text.removeAll() }
    }

    /// Calls `body` for the uncommitted items, latest first, and removes them.
    mutating func takeBack(_ body: (Int32, Entry, UnsafeRawBufferPointer) -> Void) {
        let bytes = text.bytes
        items.takeBack { body($0, $1, bytes) }
        text.removeAll()
    }

    private mutating func append(_ bytes: UnsafeRawBufferPointer) -> Range<Int> {
        let start = text.count
        text.append(bytes)
        return start..<text.count
    }
}
