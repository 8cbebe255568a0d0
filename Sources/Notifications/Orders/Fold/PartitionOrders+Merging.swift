import Digests

/// The changes that an event makes to its order.
extension PartitionOrders {
    /// The event time of the latest end.
    func end(of draft: OrderDraft) -> WallTime? {
        draft.header.flags.contains(.hasEnd) ? WallTime(milliseconds: Int64(bitPattern: draft.marks[0].value)) : nil
    }

    /// Remembers the event's identity, and an end, whether or not the event is applied: what is known of the last
    /// horizon then never depends on the horizon before.
    func note(_ event: OrderFacts, in draft: inout OrderDraft) {
        var first = draft.header.flags.contains(.hasEnd) ? 1 : 0
        var count = Int(draft.header.markCount)
        if let identity = event.identity {
            var found = first
            while found < count, draft.marks[found].value != identity { found += 1 }
            if found == count, count < first + OrderDraft.maxMarks - 1 { count += 1 }
            for index in stride(from: min(found, count - 1), to: first, by: -1) {
                draft.marks[index] = draft.marks[index - 1]
            }
            draft.marks[first] = OrderMark(value: identity, until: later(limits.horizon))
        }
        if let status = event.status, limits.isTerminal(status) {
            if first == 0 {
                for index in stride(from: count, to: 0, by: -1) { draft.marks[index] = draft.marks[index - 1] }
                count += 1
                first = 1
                draft.header.flags.insert(.hasEnd)
            }
            let until = later(limits.terminalRetention)
            for index in first..<count { draft.marks[index].until = min(draft.marks[index].until, until) }
            draft.marks[0] = OrderMark(value: UInt64(bitPattern: event.time.milliseconds), until: until)
        }
        draft.header.markCount = UInt8(count)
    }

    private func later(_ seconds: Int64) -> UInt32 { UInt32(clamping: Int64(now) + seconds) }

    func merge(_ event: OrderFacts, into draft: inout OrderDraft) -> CancelledTimers {
        let before = draft.header
        draft.header.lastTime = event.time
        draft.header.timeAt = now
        if let status = event.status {
            (draft.status, draft.header.statusAt) = remembered(status)
            draft.header.flags.subtract([.isTerminal, .isUnpicked])
            if limits.isUnpicked(status) { draft.header.flags.insert(.isUnpicked) }
            if limits.isTerminal(status) {
                draft.header.flags.insert(.isTerminal)
                return endOrder(&draft)
            }
        }
        if !event.place.isEmpty { (draft.place, draft.header.placeAt) = remembered(event.place) }
        if let visibleID = event.visibleID {
            (draft.visibleID, draft.header.visibleAt) = remembered(visibleID)
        }
        if let parentID = event.parentID {
            (draft.parentID, draft.header.parentAt) = remembered(parentID)
        }
        if let type = event.orderType {
            draft.header.flags.subtract(.orderTypes)
            draft.header.flags.insert(OrderHeader.Flags(type))
            draft.header.typeAt = now
        }
        if let slot = event.slot {
            draft.header.slotStart = slot.start
            draft.header.slotEnd = slot.end
            draft.header.slotAt = now
            draft.header.flags.remove(.hasSlotDate)
            if let date = event.slotDate {
                draft.header.flags.insert(.hasSlotDate)
                draft.header.slotDate = date
            }
        }
        if let date = event.date {
            draft.header.date = date
            draft.header.dateAt = now
        }
        if let date = event.orderDate {
            draft.header.orderDate = date
            draft.header.orderDateAt = now
        }
        return moveTimers(of: &draft, isNew: before.timeAt == 0)
    }

    /// A text and the time at which it was said; of a long one neither, and of what it replaces neither.
    private func remembered(_ text: UnsafeRawBufferPointer) -> (UnsafeRawBufferPointer, UInt32) {
        text.count <= OrderBlock.maxText ? (text, now) : (UnsafeRawBufferPointer(start: nil, count: 0), 0)
    }

    /// An ended order keeps its status and its identities alone.
    private func endOrder(_ draft: inout OrderDraft) -> CancelledTimers {
        var cancelled = CancelledTimers()
        cancelled.ended = OrderTimers(draft.header, spread: spread(of: draft.place)).pending(
            after: watermark, hash: StoredHash(of: draft.id))
        let none = UnsafeRawBufferPointer(start: nil, count: 0)
        var header = OrderHeader()
        header.lastTime = draft.header.lastTime
        header.timeAt = draft.header.timeAt
        header.statusAt = draft.header.statusAt
        header.markCount = draft.header.markCount
        header.flags = draft.header.flags.intersection([.isTerminal, .isUnpicked, .hasEnd, .isDirty, .isStored])
        draft.header = header
        draft.place = none
        draft.visibleID = none
        draft.parentID = none
        return cancelled
    }

    /// A changed slot moves its timers; a repeated one does not.
    private func moveTimers(of draft: inout OrderDraft, isNew: Bool) -> CancelledTimers {
        var cancelled = CancelledTimers()
        guard limits.isScheduled else { return cancelled }
        let start = start(of: draft)
        if start == 0, isNew { cancelled.noSlot = 1 }
        guard start != draft.header.start else { return cancelled }
        draft.header.start = start
        draft.header.startSetAt = start == 0 ? 0 : now
        if start != 0 {
            let timers = OrderTimers(draft.header, spread: spread(of: draft.place))
            cancelled.alreadyStarted =
                TimerKind.allCases.count - timers.pending(after: watermark, hash: StoredHash(of: draft.id))
        }
        return cancelled
    }

    /// When the slot starts, in seconds since 1970; 0 without a slot, a date or a place.
    private func start(of draft: OrderDraft) -> UInt32 {
        let header = draft.header
        guard header.slotAt != 0, header.placeAt != 0, let date = header.deliveryDate else { return 0 }
        let start = zones.instant(date: date, minute: header.slotStart, place: draft.place)
        // No delivery is before 1970 or after 2105.
        return UInt32(exactly: start + TimerKind.longestDelay + 120) == nil ? 0 : UInt32(clamping: start)
    }
}

extension OrderHeader {
    /// The delivery date, else the order's own date, else the date of the event that brought the slot.
    var deliveryDate: Int32? {
        if dateAt != 0 { return date }
        if orderDateAt != 0 { return orderDate }
        return flags.contains(.hasSlotDate) ? slotDate : nil
    }
}
