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
    @exclusivity(unchecked) private(set) var now: UInt32 = 0
    @exclusivity(unchecked) private(set) var found = OrderTable.Match.nothing

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
        if limits.isScheduled, event.type.isSentByTimers { verdict.reason = .scheduledHere }
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

    /// A duplicate changes nothing but how long it is remembered: the state never depends on what is too old to be read.
    private func repeatMarks(of event: OrderFacts, undo: inout UndoLog) {
        var draft = OrderDraft(reading: undo.noteChanged(table.block(found.name), of: partition))
        forgetExpired(&draft)
        note(event, in: &draft)
        write(&draft)
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
}
