import Digests

/// Which fields of an order still count, and the removal of orders that have none left.
extension PartitionOrders {
    /// Whether a field set by a record of this time still counts. What is left of an ended order expires earlier.
    func isAlive(_ time: UInt32, _ header: OrderHeader, isOfEnd: Bool = false) -> Bool {
        let isEnded = isOfEnd && header.flags.contains(.isTerminal)
        return time != 0
            && Int64(time) + (isEnded ? limits.terminalRetention : limits.horizon) > newest.milliseconds / 1000
    }

    func isKnown(_ identity: UInt64) -> Bool {
        let block = table.block(found.name)
        let header = block.header
        for index in (header.flags.contains(.hasEnd) ? 1 : 0)..<Int(header.markCount) {
            let mark = block.mark(index)
            if mark.value == identity, Int64(mark.until) > newest.milliseconds / 1000 { return true }
        }
        return false
    }

    func forgetExpired(_ draft: inout OrderDraft) {
        let header = draft.header
        let none = UnsafeRawBufferPointer(start: nil, count: 0)
        var count = 0
        for index in 0..<Int(header.markCount) {
            if Int64(draft.marks[index].until) > newest.milliseconds / 1000 {
                draft.marks[count] = draft.marks[index]
                count += 1
            } else if index == 0, header.flags.contains(.hasEnd) {
                draft.header.flags.remove(.hasEnd)
            }
        }
        draft.header.markCount = UInt8(count)
        if !isAlive(header.timeAt, header, isOfEnd: true) { draft.header.timeAt = 0 }
        if !isAlive(header.statusAt, header, isOfEnd: true) {
            draft.header.statusAt = 0
            draft.header.flags.subtract([.isTerminal, .isUnpicked])
            draft.status = none
        }
        if !isAlive(header.slotAt, header) { draft.header.slotAt = 0 }
        if !isAlive(header.dateAt, header) { draft.header.dateAt = 0 }
        if !isAlive(header.orderDateAt, header) { draft.header.orderDateAt = 0 }
        if !isAlive(header.typeAt, header) {
            draft.header.typeAt = 0
            draft.header.flags.subtract(.orderTypes)
        }
        if !isAlive(header.placeAt, header) {
            draft.header.placeAt = 0
            draft.place = none
        }
        if !isAlive(header.visibleAt, header) {
            draft.header.visibleAt = 0
            draft.visibleID = none
        }
        if !isAlive(header.parentAt, header) {
            draft.header.parentAt = 0
            draft.parentID = none
        }
    }

    /// Frees the memory of orders whose fields have all expired, as of the last commit. If that leaves the index more
    /// than half full, the index grows, so that the next pass over all orders comes only after many insertions.
    func makeRoom() {
        removeExpired()
        table.growIfHalfFull()
    }

    /// Forgets orders until the others are within the limit, in the order of ``ForgetQueue``.
    func forgetBeyondLimit(counting cancelled: inout CancelledTimers, undo: inout UndoLog) {
        while table.countedBytes > limits.maxBytes {
            if forgetting == nil { forgetting = ForgetQueue(of: table) }
            guard let name = forgetting?.next(in: table, isGone: { isGone($0, at: newest) }) else { return }
            let block = table.block(name)
            if !isGone(block.header, at: newest) {
                cancelled.forgottenOrders += 1
                let timers = OrderTimers(block.header, spread: spread(ofPlaceIn: block))
                cancelled.forgotten += timers.pending(after: watermark, hash: StoredHash(of: block.id))
            }
            _ = undo.noteChanged(block, of: partition)
            remove(name)
        }
    }

    private func removeExpired() {
        var gone: [UInt32] = []
        table.visit { name, block in
            if isGone(block.header, at: committedNewest) { gone.append(name) }
        }
        for name in gone { remove(name) }
    }

    func remove(_ name: UInt32) {
        let block = table.block(name)
        if block.header.flags.contains(.isStored) { changes?.append(removed: OrderKey(of: block.id)) }
        table.remove(name)
    }

    /// Whether the last record that touched an order is so old that nothing of it counts any more: no field lives longer.
    private func isGone(_ header: OrderHeader, at newest: WallTime) -> Bool {
        let life = header.flags.contains(.isOnlyEnd) ? limits.terminalRetention : limits.horizon
        return Int64(header.touchedAt) + life <= newest.milliseconds / 1000
    }
}

extension OrderHeader {
    /// Nothing but that the order has ended, and its identities.
    var isOnlyEnd: Bool {
        flags.contains(.isTerminal)
            && slotAt | dateAt | orderDateAt | placeAt | visibleAt | parentAt | typeAt == 0
    }
}
