import NotificationPayload

/// The order ids for which one event has notified: equal ids collapse into one (docs/rules.md §5.3 row 9).
///
/// A table of indices into the batch's notifications, reused from event to event; the first few are compared one by
/// one.
struct NotificationIDs: ~Copyable {
    private static let fewEnough = 8

    private var table: [UInt32] = []
    private var isTableInUse = false

    /// Whether a notification from `first` on has this order id.
    mutating func contains(_ id: UnsafeRawBufferPointer, from first: Int, in batch: borrowing EventBatch) -> Bool {
        let count = batch.notifications.count - first
        guard count > Self.fewEnough else {
            for index in first..<batch.notifications.count where batch.isOrderID(id, of: index) {
                return true
            }
            return false
        }
        if !isTableInUse {
            isTableInUse = true
            if table.isEmpty {
                table = Array(repeating: 0, count: 4 * EventLimits.maxNotifications)
            }
            for index in first..<batch.notifications.count {
                insert(index, first: first, in: batch)
            }
        }
        var slot = Self.hash(id) % table.count
        while table[slot] != 0 {
            if batch.isOrderID(id, of: first + Int(table[slot]) - 1) { return true }
            slot = (slot + 1) % table.count
        }
        return false
    }

    /// Adds the notification that was appended last.
    mutating func insertLast(from first: Int, in batch: borrowing EventBatch) {
        if isTableInUse {
            insert(batch.notifications.count - 1, first: first, in: batch)
        }
    }

    mutating func removeAll() {
        guard isTableInUse else { return }
        isTableInUse = false
        for index in table.indices {
            table[index] = 0
        }
    }

    private mutating func insert(_ index: Int, first: Int, in batch: borrowing EventBatch) {
        var slot = Self.hash(batch.orderID(of: index)) % table.count
        while table[slot] != 0 {
            slot = (slot + 1) % table.count
        }
        table[slot] = UInt32(index - first + 1)
    }

    /// Seeded per process, so that nobody can choose ids that collide; no output depends on it.
    private static func hash(_ id: UnsafeRawBufferPointer) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: id)
        return hasher.finalize() & Int.max
    }
}

extension EventBatch {
    fileprivate borrowing func isOrderID(_ id: UnsafeRawBufferPointer, of index: Int) -> Bool {
        sameBytes(orderID(of: index), id)
    }

    fileprivate borrowing func orderID(of index: Int) -> UnsafeRawBufferPointer {
        switch notifications[index].kind {
        case .order(let order): bytes(order.orderID)
        case .request: UnsafeRawBufferPointer(start: nil, count: 0)
        }
    }
}
