import Digests
import NotificationPayload

/// A checkpoint holds the blocks unchanged, one per key. The fold resumes from the offset that it belongs to.
extension PartitionOrders {
    /// Calls `body` for each order that changed since the last call: its key, and its block, or nil if the order was
    /// removed.
    ///
    /// Call it only while no transaction is open (``OrderStates/isCommitted``).
    /// - Parameter limit: the most orders per call; the next call takes the rest.
    /// - Returns: the number of orders.
    func takeChanges<Failure: Error>(
        limit: Int, _ body: (OrderKey, UnsafeRawBufferPointer?) throws(Failure) -> Void
    ) throws(Failure) -> Int {
        changes?.sort(over: limit, in: table)
        var taken = 0
        while taken < limit, let key = changes?.takeRemoved() {
            taken += 1
            try body(key, nil)
        }
        while taken < limit, let name = changes?.take(in: table) {
            taken += 1
            table.markStored(name)
            let block = table.block(name)
            try body(OrderKey(of: block.id), UnsafeRawBufferPointer(start: block.base, count: block.size))
        }
        return taken
    }

    /// Loads an order from a checkpoint and replaces the one with its id.
    ///
    /// - Returns: whether the bytes are a block. If not, nothing changes.
    func load(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let base = bytes.baseAddress, bytes.count >= OrderBlock.headerSize else { return false }
        let block = OrderBlock(base)
        guard block.size == bytes.count, block.header.markCount <= OrderDraft.maxMarks, block.header.idCount > 0 else {
            return false
        }
        var draft = OrderDraft(reading: block)
        guard draft.header.typeAt == 0 || draft.header.flags.orderType != nil else { return false }
        draft.header.flags.remove(.isDirty)
        draft.header.flags.insert(.isStored)
        table.write(&draft, replacing: table.find(draft.id))
        earliestDue = min(
            earliestDue, OrderTimers(draft.header, spread: spread(of: draft.place)).next(after: watermark))
        return true
    }
}

extension OrderStates: CheckpointedStates {
    /// Starts tracking: from now on ``takeChanges(of:limit:_:)`` reports a partition's changes, and
    /// ``recentRecords(of:below:)`` its last records.
    ///
    /// - Parameter recent: the records before these, as a checkpoint has them.
    package mutating func trackChanges(of partition: Int32, recent: RecentFingerprints = RecentFingerprints()) {
        self[partition]?.recent = RecentRecords(recent)
        self[partition]?.changes = OrderChanges()
    }

    /// Stops tracking changes and drops those tracked so far. This is permanent, since the orders keep their marks.
    package mutating func stopTracking(_ partition: Int32) {
        self[partition]?.changes = nil
        self[partition]?.recent = nil
    }

    /// The fingerprints of the last records of a partition below an offset, at most sixteen.
    package func recentRecords(of partition: Int32, below offset: Int64) -> RecentFingerprints {
        self[partition]?.recent?.fingerprints(below: offset) ?? RecentFingerprints()
    }

    /// See ``PartitionOrders/takeChanges(limit:_:)``.
    @discardableResult
    package mutating func takeChanges<Failure: Error>(
        of partition: Int32, limit: Int = .max,
        _ body: (OrderKey, UnsafeRawBufferPointer?) throws(Failure) -> Void
    ) throws(Failure) -> Int {
        try self[partition]?.takeChanges(limit: limit, body) ?? 0
    }

    package mutating func load(
        _ key: UnsafeRawBufferPointer, _ block: UnsafeRawBufferPointer, into partition: Int32
    ) -> Bool {
        self[partition]?.load(block) ?? false
    }
}
