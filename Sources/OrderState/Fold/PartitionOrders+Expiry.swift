import Events

/// Which fields of an order still count, and the removal of orders that have none left.
extension PartitionOrders {
    /// Whether a field set by a record of this time still counts. What is left of an ended order expires earlier.
    func isAlive(_ time: UInt32, _ header: OrderHeader, isOfEnd: Bool = false) -> Bool {
        isAlive(time, header, at: newest, isOfEnd: isOfEnd)
    }

    private func isAlive(_ time: UInt32, _ header: OrderHeader, at newest: WallTime, isOfEnd: Bool = false) -> Bool {
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

    private func removeExpired() {
        var dead: [UInt32] = []
        table.visit { name, block in
            if !isAnythingAlive(in: block, at: committedNewest) { dead.append(name) }
        }
        for name in dead { remove(name) }
    }

    func remove(_ name: UInt32) {
        noteChange(of: table.block(name).id)
        table.remove(name)
    }

    private func isAnythingAlive(in block: OrderBlock, at newest: WallTime) -> Bool {
        let header = block.header
        if isAlive(header.timeAt, header, at: newest, isOfEnd: true)
            || isAlive(header.statusAt, header, at: newest, isOfEnd: true)
        {
            return true
        }
        for time in [
            header.slotAt, header.dateAt, header.orderDateAt, header.placeAt, header.visibleAt, header.parentAt,
            header.typeAt,
        ] where isAlive(time, header, at: newest) {
            return true
        }
        for index in 0..<Int(header.markCount) where Int64(block.mark(index).until) > newest.milliseconds / 1000 {
            return true
        }
        return false
    }
}
