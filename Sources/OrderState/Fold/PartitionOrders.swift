import Digests
import Events
import Extraction
import NotificationPayload

/// The state of the orders of one partition: a fold over its records in the order of the log.
///
/// What it says at an offset depends on the records of the last two horizons alone. A member that an event carries
/// replaces the one before, an absent one stays. A member goes a horizon after the record that said it, measured at the
/// partition's newest timestamp: it is passed over from then on, and given up when its order is next written.
///
/// One owner, which folds, commits and takes back through ``OrderStates``. What every event touches goes without the
/// checks of exclusive access at run time, which took a fortieth of a worker's time: nothing here calls out while it
/// changes it.
package final class PartitionOrders {
    let partition: Int32
    package let limits: OrderLimits
    let zones: ExtractionRules
    @exclusivity(unchecked) package var table = OrderTable()
    /// The newest timestamp of a record so far, in milliseconds since 1970.
    @exclusivity(unchecked) package var newest: Int64
    /// The timer watermark W: what was due at or before it has fired, or never will.
    @exclusivity(unchecked) package var watermark: TimerWatermark
    /// ``newest`` as it was committed: what is gone at it is gone for good.
    var settled: Int64
    /// What the fold lacks at its beginning.
    @exclusivity(unchecked) package var beginning: FoldBeginning
    /// No timer behind the watermark is due before this, in milliseconds. It may be too early.
    @exclusivity(unchecked) package var earliestDue = Int64.max
    /// What is left of the tick under way; nil: there is none.
    @exclusivity(unchecked) package var due: DueIndex?
    /// The ids of the orders that changed since the last checkpoint, each behind its length; nil where nobody asks.
    @exclusivity(unchecked) var changes: ByteWriter?
    /// How many bytes of them have been taken, and how many are sorted.
    var takenChanges = 0
    var sortedChanges = 0
    /// The last records, by which a checkpoint recognises its log; nil where nobody asks.
    @exclusivity(unchecked) var recent: RecentRecords?
    /// Of the record at hand, in seconds since 1970, at least 1; 0 where it has none.
    @exclusivity(unchecked) private var now: UInt32 = 0
    @exclusivity(unchecked) private var found = OrderTable.Match.nothing

    init(
        partition: Int32, watermark: TimerWatermark, newest: Int64, beginning: FoldBeginning, limits: OrderLimits,
        zones: ExtractionRules
    ) {
        self.partition = partition
        self.limits = limits
        self.zones = zones
        self.watermark = watermark
        self.newest = newest
        self.beginning = beginning
        settled = newest
    }

    /// Takes the next record of the partition.
    func begin(_ record: EventRecord, undo: inout UndoLog) {
        now = 0
        let timestamp = record.timestamp?.milliseconds
        recent?.note(offset: record.offset, timestamp: timestamp, key: record.key)
        if let timestamp, timestamp > 0 { take(timestamp, undo: &undo) }
    }

    private func take(_ timestamp: Int64, undo: inout UndoLog) {
        now = max(1, UInt32(clamping: timestamp / 1000))
        // The first record stays the first, whether it is taken back or not.
        beginning.take(timestamp)
        guard timestamp > newest else { return }
        undo.noteClock(newest: newest, watermark: watermark, of: partition)
        newest = timestamp
    }

    func consider(_ event: OrderFacts, undo: inout UndoLog) -> OrderVerdict {
        if now == 0 { take(max(event.time.milliseconds, 1), undo: &undo) }
        var verdict = OrderVerdict()
        found = .nothing
        if let id = event.orderID { found = table.find(id) }
        if found.name != 0 {
            let header = table.block(found.name).header
            if let identity = event.identity, isKnown(identity), !event.isRedriven {
                repeatMarks(of: event, undo: &undo)
                verdict.reason = .duplicate
                return verdict
            }
            if isAlive(header.statusAt, header, isOfEnd: true) {
                verdict.previousStatus = OrderDraft(reading: table.block(found.name)).status
            }
            verdict.isOutOfOrder =
                isAlive(header.timeAt, header, isOfEnd: true) && event.time.milliseconds < header.lastTime
        }
        if limits.isScheduled, event.type == .timeslotStarted || event.type == .unpickedOrdersReminder {
            verdict.reason = .scheduledHere
        }
        return verdict
    }

    /// Folds the event that was considered last.
    ///
    /// - Returns: the timers that this settles.
    func apply(_ event: OrderFacts, undo: inout UndoLog) -> SettledTimers {
        guard let id = event.orderID else { return SettledTimers() }
        var draft = OrderDraft(id: id)
        if found.name == 0 {
            undo.noteAdded(id, to: partition)
        } else {
            draft = OrderDraft(reading: undo.noteChanged(table.block(found.name), of: partition))
            forgetExpired(&draft)
        }
        // An event from before the order's end comes too late to bring it back.
        let isOver = end(of: draft).map { event.time.milliseconds < $0 } ?? false
        note(event, in: &draft)
        var settled = SettledTimers()
        if !isOver { settled = merge(event, into: &draft) }
        write(&draft)
        return settled
    }

    func restore(_ entry: UndoLog.Entry, text: UnsafeRawBufferPointer) {
        switch entry {
        case .clock(let newest, let watermark):
            self.newest = newest
            self.watermark = watermark
            // What was due between the two watermarks is due again.
            earliestDue = min(earliestDue, watermark.time)
        case .added(let id):
            let name = table.find(UnsafeRawBufferPointer(rebasing: text[id])).name
            if name != 0 { remove(name) }
        case .changed(let range):
            guard let start = text.baseAddress else { return }
            var draft = OrderDraft(reading: OrderBlock(start + range.lowerBound))
            found = table.find(draft.id)
            write(&draft)
        }
    }

    /// Everything so far is committed.
    func settle() { settled = newest }

    /// Goes on with what the committed offset carries; the newest timestamp never goes back.
    package func resume(watermark: TimerWatermark, newest: Int64) {
        earliestDue = min(earliestDue, watermark.time)
        due = nil
        self.watermark = watermark
        self.newest = max(self.newest, newest)
    }

    // MARK: Members

    /// Whether what a record of this time said still counts. What is of an order's end goes earlier.
    func isAlive(_ time: UInt32, _ header: OrderHeader, isOfEnd: Bool = false) -> Bool {
        isAlive(time, header, at: newest, isOfEnd: isOfEnd)
    }

    private func isAlive(_ time: UInt32, _ header: OrderHeader, at newest: Int64, isOfEnd: Bool = false) -> Bool {
        let isEnded = isOfEnd && header.flags.contains(.isTerminal)
        return time != 0 && Int64(time) + (isEnded ? limits.terminalRetention : limits.horizon) > newest / 1000
    }

    private func isKnown(_ identity: UInt64) -> Bool {
        let block = table.block(found.name)
        let header = block.header
        for index in (header.flags.contains(.hasEnd) ? 1 : 0)..<Int(header.markCount) {
            let mark = block.mark(index)
            if mark.value == identity, Int64(mark.until) > newest / 1000 { return true }
        }
        return false
    }

    /// A duplicate changes nothing but how long it is remembered: the state never depends on what is too old to be read.
    private func repeatMarks(of event: OrderFacts, undo: inout UndoLog) {
        var draft = OrderDraft(reading: undo.noteChanged(table.block(found.name), of: partition))
        forgetExpired(&draft)
        note(event, in: &draft)
        write(&draft)
    }

    private func forgetExpired(_ draft: inout OrderDraft) {
        let header = draft.header
        let none = UnsafeRawBufferPointer(start: nil, count: 0)
        var count = 0
        for index in 0..<Int(header.markCount) {
            if Int64(draft.marks[index].until) > newest / 1000 {
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
            draft.header.flags.subtract([.food, .d2d])
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

    /// The event time of the latest end, in milliseconds.
    private func end(of draft: OrderDraft) -> Int64? {
        draft.header.flags.contains(.hasEnd) ? Int64(bitPattern: draft.marks[0].value) : nil
    }

    /// Remembers the event's identity, and an end: whether the event is applied or not, so that what is known of the
    /// last horizon never depends on the one before.
    private func note(_ event: OrderFacts, in draft: inout OrderDraft) {
        var first = draft.header.flags.contains(.hasEnd) ? 1 : 0
        var count = Int(draft.header.markCount)
        if let identity = event.identity {
            var place = first
            while place < count, draft.marks[place].value != identity { place += 1 }
            if place == count, count < first + OrderDraft.maxMarks - 1 { count += 1 }
            for index in stride(from: min(place, count - 1), to: first, by: -1) {
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

    private func merge(_ event: OrderFacts, into draft: inout OrderDraft) -> SettledTimers {
        let before = draft.header
        draft.header.lastTime = event.time.milliseconds
        draft.header.timeAt = now
        if let status = event.status {
            draft.status = status
            draft.header.statusAt = now
            draft.header.flags.subtract([.isTerminal, .isUnpicked])
            if limits.isUnpicked(status) { draft.header.flags.insert(.isUnpicked) }
            if limits.isTerminal(status) {
                draft.header.flags.insert(.isTerminal)
                return endOrder(&draft)
            }
        }
        draft.place = event.place
        draft.header.placeAt = now
        if let visibleID = event.visibleID {
            draft.visibleID = visibleID
            draft.header.visibleAt = now
        }
        if let parentID = event.parentID {
            draft.parentID = parentID
            draft.header.parentAt = now
        }
        if let type = event.orderType {
            draft.header.flags.subtract([.food, .d2d])
            draft.header.flags.insert(type == .food ? .food : .d2d)
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

    /// What is left of an order that has ended is its status and its identities.
    private func endOrder(_ draft: inout OrderDraft) -> SettledTimers {
        var settled = SettledTimers()
        settled.ended = OrderTimers(draft.header, spread: spread(of: draft.place)).pending(
            after: watermark, hash: StoredHash(of: draft.id))
        let none = UnsafeRawBufferPointer(start: nil, count: 0)
        var header = OrderHeader()
        header.lastTime = draft.header.lastTime
        header.timeAt = draft.header.timeAt
        header.statusAt = draft.header.statusAt
        header.markCount = draft.header.markCount
        header.flags = draft.header.flags.intersection([.isTerminal, .isUnpicked, .hasEnd, .isDirty])
        draft.header = header
        draft.place = none
        draft.visibleID = none
        draft.parentID = none
        return settled
    }

    /// A slot that changes moves its timers; one that is said again does not.
    private func moveTimers(of draft: inout OrderDraft, isNew: Bool) -> SettledTimers {
        var settled = SettledTimers()
        guard limits.isScheduled else { return settled }
        let start = start(of: draft)
        if start == 0, isNew { settled.noSlot = 1 }
        guard start != draft.header.start else { return settled }
        draft.header.start = start
        draft.header.startSetAt = start == 0 ? 0 : now
        if start != 0 {
            let timers = OrderTimers(draft.header, spread: spread(of: draft.place))
            settled.alreadyStarted =
                OrderTimers.count - timers.pending(after: watermark, hash: StoredHash(of: draft.id))
        }
        return settled
    }

    /// When the slot starts, in seconds since 1970; 0 without a slot, a date and a place.
    private func start(of draft: OrderDraft) -> UInt32 {
        let header = draft.header
        guard header.slotAt != 0, header.placeAt != 0, let date = header.deliveryDate else { return 0 }
        let start = zones.instant(date: date, minute: header.slotStart, place: draft.place)
        // Before 1970 and after 2105 nobody delivers.
        return UInt32(exactly: start + OrderTimers.last + 120) == nil ? 0 : UInt32(clamping: start)
    }

    private func write(_ draft: inout OrderDraft) {
        if found.name == 0, table.isFull { makeRoom() }
        noteChange(of: &draft)
        table.write(&draft, replacing: found)
        guard draft.header.start != 0 else { return }
        let timers = OrderTimers(draft.header, spread: spread(of: draft.place))
        earliestDue = min(earliestDue, timers.next(after: watermark))
        if due != nil { noteDue(timers, of: draft.id) }
    }

    func spread(of place: UnsafeRawBufferPointer) -> Int64 {
        limits.spread == 0 ? 0 : PlaceSpread.seconds(of: place, upTo: limits.spread)
    }

    /// Frees the memory of orders that have nothing left to say, as of the last commit; where that does not leave the
    /// index half empty it grows, so that it takes many orders until the next look at all of them.
    private func makeRoom() {
        removeExpired()
        table.growIfHalfFull()
    }

    private func removeExpired() {
        var dead: [UInt32] = []
        table.visit { name, block in
            if !isAnythingAlive(in: block, at: settled) { dead.append(name) }
        }
        for name in dead { remove(name) }
    }

    private func remove(_ name: UInt32) {
        noteChange(of: table.block(name).id)
        table.remove(name)
    }

    private func isAnythingAlive(in block: OrderBlock, at newest: Int64) -> Bool {
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
        for index in 0..<Int(header.markCount) where Int64(block.mark(index).until) > newest / 1000 { return true }
        return false
    }
}

extension OrderHeader {
    /// The delivery date, else the order's own, else that of the event that brought the slot.
    var deliveryDate: Int32? {
        if dateAt != 0 { return date }
        if orderDateAt != 0 { return orderDate }
        return flags.contains(.hasSlotDate) ? slotDate : nil
    }
}
