import Digests

/// What the worker asks of a partition that it has read to the end: its due timers.
package struct Tick: Sendable {
    package var partition: Int32
    /// T: timers due at or before it fire. A reminder that a later one supersedes by T is not sent, whichever
    /// transaction it falls into.
    package var time: WallTime
    /// The clock of the transaction: the lateness of a timer is measured by it.
    package var clock: WallTime
    /// The offset up to which the partition was read.
    package var offset: Int64

    package init(partition: Int32, time: WallTime, clock: WallTime, offset: Int64) {
        self.partition = partition
        self.time = time
        self.clock = clock
        self.offset = offset
    }
}

/// Where a slice of a tick ends: how much of it one transaction sends.
package struct TickSlice {
    /// The watermark at which the slice ends at the latest; nil: that of the whole tick.
    package var end: TimerWatermark?
    /// The most timers; those of one instant and one hash stay together.
    package var maxTimers: Int
    /// The most records in the transaction. Once reached, no further timer is begun.
    package var maxRecords: Int
    /// Whether the transaction is too old to begin a further timer.
    package var isTimeUp: () -> Bool

    package init(
        end: TimerWatermark? = nil, maxTimers: Int = .max, maxRecords: Int = .max,
        isTimeUp: @escaping () -> Bool = { false }
    ) {
        self.end = end
        self.maxTimers = maxTimers
        self.maxRecords = maxRecords
        self.isTimeUp = isTimeUp
    }

    /// The whole tick, or the part that the journal names.
    package static func upTo(_ end: TimerWatermark?) -> TickSlice { TickSlice(end: end) }
}

/// A timer that is due.
package struct DueTimer {
    package var due: WallTime
    package var order: UInt32
    package var kind: TimerKind
    /// The hash of the order id.
    var hash: StoredHash

    /// The watermark after this timer while others of its instant are left.
    package var watermark: TimerWatermark { TimerWatermark(due: due, hash: hash) }
}

extension PartitionOrders {
    /// Lists the timers above the watermark that are due by T, unless they are listed already; from then on, an event
    /// that sets one adds it. Scans all orders once per tick: 10 ms for a million orders, and 1 µs per timer.
    package func prepareDue(until time: WallTime) {
        if due?.until == time {
            due?.sort()
            return
        }
        due = DueIndex(until: time)
        table.visit { _, block in
            guard block.header.start != 0 else { return }
            noteDue(OrderTimers(block.header, spread: spread(ofPlaceIn: block)), of: block.id)
        }
        due?.sort()
    }

    /// Adds the timers of an order that the current tick has still to send.
    func noteDue(_ timers: OrderTimers, of id: UnsafeRawBufferPointer) {
        guard let time = due?.until, timers.next(after: watermark) <= time else { return }
        let hash = StoredHash(of: id)
        for kind in TimerKind.allCases
        where timers.due(kind) <= time && timers.isPending(kind, after: watermark, hash: hash) {
            due?.append(due: timers.due(kind), hash: hash, kind: kind, id: id)
        }
    }

    /// The watermark after the entry at this index; past the last entry, one that no other is above.
    package func dueWatermark(at index: Int) -> TimerWatermark {
        due?.watermark(at: index) ?? TimerWatermark(.distantFuture)
    }

    /// The timer at this index; nil if the order has moved or was removed.
    package func dueTimer(at index: Int) -> DueTimer? {
        guard let entry = due?.entry(index), let name = due?.withID(of: entry, { table.find($0).name }), name != 0
        else { return nil }
        let timers = OrderTimers(table.block(name).header, spread: spread(ofPlaceIn: table.block(name)))
        guard !timers.isEmpty, timers.due(entry.kind) == entry.due, timers.isSetInTime(entry.kind) else { return nil }
        return DueTimer(due: entry.due, order: name, kind: entry.kind, hash: entry.hash)
    }

    /// Every timer above the watermark that is due by then.
    func dueTimers(until time: WallTime) -> [DueTimer] {
        prepareDue(until: time)
        return (0..<(due?.count ?? 0)).compactMap(dueTimer)
    }

    func spread(ofPlaceIn block: OrderBlock) -> Int64 {
        limits.spread == 0 ? 0 : spread(of: OrderDraft(reading: block).place)
    }

    /// The outcome of a due timer; nil if the state no longer has it, because a field of it has expired.
    ///
    /// - Parameters:
    ///   - until: T of the tick, by which a later reminder of the order supersedes an earlier one.
    ///   - clock: the clock of the transaction.
    package func decide(
        _ timer: DueTimer, until: WallTime, clock: WallTime
    ) -> Result<DueNotification, TimerDrop.Reason>? {
        let draft = OrderDraft(reading: table.block(timer.order))
        let header = draft.header
        let dateAt = header.dateAt != 0 ? header.dateAt : header.orderDateAt != 0 ? header.orderDateAt : header.slotAt
        guard isAlive(header.slotAt, header), isAlive(header.placeAt, header), isAlive(dateAt, header),
            let date = header.deliveryDate
        else { return nil }
        let timers = OrderTimers(header, spread: spread(of: draft.place))
        let kind = timer.kind
        let hasStatus = isAlive(header.statusAt, header, isOfEnd: true)
        if clock - timer.due > limits.maxLateness { return .failure(.init(.tooLate)) }
        if hasStatus, header.flags.contains(.isTerminal) { return .failure(.init(.ended)) }
        if kind.wantsUnpicked, !hasStatus || !header.flags.contains(.isUnpicked) { return .failure(.init(.picked)) }
        if let next = kind.successor, timers.due(next) <= until { return .failure(.init(.superseded)) }
        var notification = DueNotification(
            type: kind.type, number: Int64(kind.rawValue), orderID: draft.id, place: draft.place,
            date: date, slot: .init(start: header.slotStart, end: header.slotEnd),
            nominal: timers.nominal(kind), due: timer.due)
        if isAlive(header.visibleAt, header) { notification.visibleID = draft.visibleID }
        if isAlive(header.parentAt, header) { notification.parentID = draft.parentID }
        if isAlive(header.typeAt, header) {
            notification.orderType = header.flags.orderType
        }
        return .success(notification)
    }

    /// Everything up to this watermark has been processed; the rest of the tick's list stays for the next slice.
    func fired(upTo watermark: TimerWatermark, undo: inout UndoLog) {
        undo.noteClock(newest: newest, watermark: self.watermark, of: partition)
        self.watermark = watermark
        if let time = due?.until, TimerWatermark(time) > watermark {
            earliestDue = watermark.time + 1
        } else {
            due = nil
            updateEarliestDue()
        }
    }

    /// Scans all orders: 10 ms for a million of them.
    package func updateEarliestDue() {
        var earliest = WallTime.distantFuture
        table.visit { _, block in
            let header = block.header
            guard header.start != 0 else { return }
            earliest = min(earliest, OrderTimers(header, spread: spread(ofPlaceIn: block)).next(after: watermark))
        }
        earliestDue = earliest
    }
}

extension TimerDrop {
    /// A reason for not sending a timer, as the error of a `Result`.
    package struct Reason: Error {
        package let drop: TimerDrop
        init(_ drop: TimerDrop) { self.drop = drop }
    }
}
