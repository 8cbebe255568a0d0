import NotificationPayload

/// The state of the orders of one partition: a fold over its records in the order of the log.
///
/// The state at an offset depends only on the records of the last two horizons. A field in an event replaces the
/// earlier one; an absent field stays. A field expires `state.horizon` after the record that set it, measured by the
/// partition's newest timestamp: it is ignored from then on, and removed when its order is next written.
///
/// One owner, which folds, commits and rolls back through ``OrderStates``. The members that every event touches have no
/// run-time checks of exclusive access, which took a fortieth of a worker's time: nothing here calls out while it
/// changes them.
package final class PartitionOrders {
    let partition: Int32
    package let limits: OrderLimits
    let zones: ExtractionRules
    @exclusivity(unchecked) package var table = OrderTable()
    /// The newest timestamp of a record so far.
    @exclusivity(unchecked) package var newest: WallTime
    /// The timer watermark W: what was due at or before it has fired, or never will.
    @exclusivity(unchecked) package var watermark: TimerWatermark
    /// The committed value of ``newest``: a field that has expired by it has expired permanently.
    var committedNewest: WallTime
    /// What is missing at the beginning of the fold.
    @exclusivity(unchecked) package var beginning: FoldBeginning
    /// No timer above the watermark is due before this. It may be too early.
    @exclusivity(unchecked) package var earliestDue = WallTime.distantFuture
    /// What is left of the tick under way; nil if there is none.
    @exclusivity(unchecked) package var due: DueIndex?
    /// What changed since the last checkpoint; nil if that is not tracked.
    @exclusivity(unchecked) var changes: OrderChanges?
    /// The last records, by which a checkpoint recognises its log; nil if they are not tracked.
    @exclusivity(unchecked) var recent: RecentRecords?
    /// What is forgotten next; nil until something has to be.
    @exclusivity(unchecked) var forgetting: ForgetQueue?
    /// The offset of the current record.
    @exclusivity(unchecked) private var offset: Int64 = -1
    /// While records are folded that a transaction has processed before: its clock is not known any more, but it was at
    /// least an hour before this. Nil while records are processed.
    @exclusivity(unchecked) package var foldLimit: WallTime?
    /// The latest time that the current record may count as.
    @exclusivity(unchecked) private var latest = WallTime.distantFuture
    /// The time of the current record, in seconds since 1970, at least 1; 0 if it has none.
    @exclusivity(unchecked) private(set) var now: UInt32 = 0
    @exclusivity(unchecked) private(set) var found = OrderTable.Match.nothing

    init(
        partition: Int32, watermark: TimerWatermark, newest: WallTime, beginning: FoldBeginning, limits: OrderLimits,
        zones: ExtractionRules
    ) {
        self.partition = partition
        self.limits = limits
        self.zones = zones
        self.watermark = watermark
        self.newest = newest
        self.beginning = beginning
        committedNewest = newest
    }

    /// Takes the next record of the partition.
    ///
    /// - Parameter latest: the latest time that it may count as (``RecordTime``).
    func begin(_ record: EventRecord, latest: WallTime, undo: inout UndoLog) {
        now = 0
        offset = max(0, record.offset)
        self.latest = latest
        if RecentFingerprints.remembers(record.value) {
            recent?.note(offset: record.offset, timestamp: record.timestamp, key: record.key)
        }
        if let timestamp = record.timestamp, timestamp > .epoch { take(timestamp, undo: &undo) }
    }

    private func take(_ timestamp: WallTime, undo: inout UndoLog) {
        if let foldLimit, timestamp > foldLimit {
            // It was bounded by a clock that is not known here.
            now = max(1, UInt32(clamping: newest.milliseconds / 1000))
            return
        }
        let timestamp = foldLimit == nil ? min(timestamp, latest) : timestamp
        now = max(1, UInt32(clamping: timestamp.milliseconds / 1000))
        // The first record stays the first, even if it is rolled back.
        beginning.take(timestamp)
        guard timestamp > newest else { return }
        undo.noteClock(newest: newest, watermark: watermark, of: partition)
        newest = timestamp
    }

    func consider(_ event: OrderFacts, undo: inout UndoLog) -> OrderVerdict {
        if now == 0 { take(max(event.time, .epoch + 1), undo: &undo) }
        var verdict = OrderVerdict()
        found = .nothing
        if let id = id(of: event) { found = table.find(id) }
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
            verdict.isOutOfOrder = isAlive(header.timeAt, header, isOfEnd: true) && event.time < header.lastTime
        }
        if limits.isScheduled, event.type.isSentByTimers { verdict.reason = .scheduledHere }
        return verdict
    }

    /// Applies the event that was considered last.
    ///
    /// - Returns: the timers that it cancels.
    func apply(_ event: OrderFacts, undo: inout UndoLog) -> CancelledTimers {
        guard let id = id(of: event) else { return CancelledTimers() }
        var draft = OrderDraft(id: id)
        if found.name == 0 {
            undo.noteAdded(id, to: partition)
        } else {
            draft = OrderDraft(reading: undo.noteChanged(table.block(found.name), of: partition))
            forgetExpired(&draft)
        }
        // An event from before the order's end does not reopen it.
        let isOver = end(of: draft).map { event.time < $0 } ?? false
        note(event, in: &draft)
        var cancelled = CancelledTimers()
        if !isOver { cancelled = merge(event, into: &draft) }
        touch(&draft, by: event)
        forgetBeyondLimit(counting: &cancelled, undo: &undo)
        return cancelled
    }

    func restore(_ entry: UndoLog.Entry, text: UnsafeRawBufferPointer) {
        forgetting = nil
        switch entry {
        case .clock(let newest, let watermark):
            self.newest = newest
            self.watermark = watermark
            // The timers due between the two watermarks are due again.
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

    /// Commits everything so far.
    func commit() { committedNewest = newest }

    /// Continues with the values of the committed offset; the newest timestamp never decreases.
    package func resume(watermark: TimerWatermark, newest: WallTime) {
        earliestDue = min(earliestDue, watermark.time)
        due = nil
        foldLimit = nil
        self.watermark = watermark
        self.newest = max(self.newest, newest)
    }

    /// A duplicate only extends how long its identity is remembered: the state never depends on records too old to be
    /// read.
    private func repeatMarks(of event: OrderFacts, undo: inout UndoLog) {
        var draft = OrderDraft(reading: undo.noteChanged(table.block(found.name), of: partition))
        forgetExpired(&draft)
        note(event, in: &draft)
        touch(&draft, by: event)
    }

    /// The id of an order that is remembered.
    private func id(of event: OrderFacts) -> UnsafeRawBufferPointer? {
        event.orderID.flatMap { $0.count <= OrderBlock.maxID ? $0 : nil }
    }

    /// Writes what the current record has changed.
    private func touch(_ draft: inout OrderDraft, by event: OrderFacts) {
        draft.header.lastOffset = offset
        draft.header.touchedAt = max(now, UInt32(clamping: newest.milliseconds / 1000))
        draft.header.flags.remove(.isOnlyEnd)
        if draft.header.isOnlyEnd, let status = event.status, limits.isTerminal(status) {
            draft.header.flags.insert(.isOnlyEnd)
        }
        let name = write(&draft)
        forgetting?.append(name, in: table)
        if table.compactIfSparse() {
            forgetting = nil
            changes?.list(table)
        }
    }

    @discardableResult
    private func write(_ draft: inout OrderDraft) -> UInt32 {
        if found.name == 0, table.isFull { makeRoom() }
        let isListed = draft.header.flags.contains(.isDirty)
        if changes != nil { draft.header.flags.insert(.isDirty) }
        let name = table.write(&draft, replacing: found)
        if !isListed || name != found.name { changes?.append(name, in: table) }
        guard draft.header.start != 0 else { return name }
        let timers = OrderTimers(draft.header, spread: spread(of: draft.place))
        earliestDue = min(earliestDue, timers.next(after: watermark))
        if due != nil { noteDue(timers, of: draft.id) }
        return name
    }

    func spread(of place: UnsafeRawBufferPointer) -> Int64 {
        limits.spread == 0 ? 0 : PlaceSpread.seconds(of: place, upTo: limits.spread)
    }
}
