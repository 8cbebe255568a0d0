import Digests
import Events
import NotificationPayload

/// A checkpoint holds the blocks unchanged, one per key. The fold resumes from the offset that it belongs to.
extension PartitionOrders {
    /// Calls `body` for each order that changed since the last call: its id, and its block, or nil if the order was
    /// removed.
    ///
    /// Call it only while no transaction is open (``OrderStates/isCommitted``).
    /// - Parameter limit: the most orders per call; the next call takes the rest.
    /// - Returns: the number of orders.
    func takeChanges<Failure: Error>(
        limit: Int, _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer?) throws(Failure) -> Void
    ) throws(Failure) -> Int {
        sortChanges(over: limit)
        guard let list = changes?.bytes else { return 0 }
        var rest = UnsafeRawBufferPointer(rebasing: list[takenChanges...])
        var taken = 0
        while rest.count >= 2, taken < limit {
            taken += 1
            let count = Int(rest.loadUnaligned(as: UInt16.self))
            let id = UnsafeRawBufferPointer(rebasing: rest[2..<2 + count])
            rest = UnsafeRawBufferPointer(rebasing: rest[(2 + count)...])
            let name = table.find(id).name
            if name == 0 {
                try body(id, nil)
            } else {
                table.clearDirty(name)
                let block = table.block(name)
                try body(id, UnsafeRawBufferPointer(start: block.base, count: block.size))
            }
        }
        takenChanges = list.count - rest.count
        if rest.isEmpty {
            changes?.removeAll()
            takenChanges = 0
            sortedChanges = 0
        }
        return taken
    }

    /// If more orders are left than one slice may have, sorts them in the order of the store's keys: otherwise each
    /// slice would write nearly all of its pages.
    private func sortChanges(over limit: Int) {
        guard limit < .max, takenChanges >= sortedChanges, let list = changes?.bytes else { return }
        var entries: [(rank: StoredHash, start: Int, end: Int)] = []
        var start = takenChanges
        while start < list.count {
            let first = start + 2
            let end = first + Int(list.loadUnaligned(fromByteOffset: start, as: UInt16.self))
            // The first bytes of the store's keys.
            entries.append((StoredHash(of: UnsafeRawBufferPointer(rebasing: list[first..<end])), start, end))
            start = end
        }
        guard entries.count > limit else { return }
        var sorted = ByteWriter(capacity: list.count - takenChanges)
        for entry in entries.sorted(by: { $0.rank < $1.rank }) {
            sorted.append(UnsafeRawBufferPointer(rebasing: list[entry.start..<entry.end]))
        }
        takenChanges = 0
        sortedChanges = sorted.count
        changes = consume sorted
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
        table.write(&draft, replacing: table.find(draft.id))
        earliestDue = min(
            earliestDue, OrderTimers(draft.header, spread: spread(of: draft.place)).next(after: watermark))
        return true
    }

    /// Records that an order is about to be written.
    func noteChange(of draft: inout OrderDraft) {
        guard changes != nil, !draft.header.flags.contains(.isDirty) else { return }
        draft.header.flags.insert(.isDirty)
        noteChange(of: draft.id)
    }

    func noteChange(of id: UnsafeRawBufferPointer) {
        guard changes != nil else { return }
        withUnsafeBytes(of: UInt16(truncatingIfNeeded: id.count)) { changes?.append($0) }
        changes?.append(id)
    }
}

extension OrderStates {
    /// Starts tracking: from now on ``takeChanges(of:limit:_:)`` reports a partition's changes, and
    /// ``recentRecords(of:below:)`` its last records.
    ///
    /// - Parameter recent: the records before these, as a checkpoint has them.
    package mutating func trackChanges(of partition: Int32, recent: RecentFingerprints = RecentFingerprints()) {
        self[partition]?.recent = RecentRecords(recent)
        self[partition]?.changes = ByteWriter(capacity: 4 << 10)
        self[partition]?.takenChanges = 0
        self[partition]?.sortedChanges = 0
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
        _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer?) throws(Failure) -> Void
    ) throws(Failure) -> Int {
        try self[partition]?.takeChanges(limit: limit, body) ?? 0
    }

    /// Loads an order of a partition from a checkpoint; false if the bytes are not a block.
    package mutating func load(_ block: UnsafeRawBufferPointer, into partition: Int32) -> Bool {
        self[partition]?.load(block) ?? false
    }
}
