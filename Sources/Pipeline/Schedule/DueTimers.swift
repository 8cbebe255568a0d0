import Extraction

/// The worker's question to a partition that it has read to the end.
package struct Tick: Sendable {
    package var partition: Int32
    /// T: what is due at or before it goes, in milliseconds since 1970.
    package var time: Int64
    /// The clock of the transaction, in milliseconds: how late a timer is, is measured by it.
    package var clock: Int64
    /// The offset that the partition was read to.
    package var offset: Int64

    package init(partition: Int32, time: Int64, clock: Int64, offset: Int64) {
        self.partition = partition
        self.time = time
        self.clock = clock
        self.offset = offset
    }
}

/// A timer that is due.
struct DueTimer {
    var due: Int64
    var order: UInt32
    var number: UInt8
}

extension PartitionOrders {
    /// The timers with W < due ≤ T, in the order in which they go: by time, then by order id.
    ///
    /// - Parameter limit: of timers; those that are due at the same time stay together.
    /// - Returns: the watermark that they lead to: T, or the time of the last of them where there are more.
    func collectDue(until time: Int64, limit: Int, into timers: inout [DueTimer]) -> Int64 {
        timers.removeAll(keepingCapacity: true)
        table.visit { name, block in
            let header = block.header
            guard header.start != 0 else { return }
            let order = OrderTimers(header, spread: spread(ofPlaceIn: block))
            for number in 0..<OrderTimers.count {
                let due = order.due(number)
                if due > watermark, due <= time, order.isSetInTime(number) {
                    timers.append(DueTimer(due: due, order: name, number: UInt8(number)))
                }
            }
        }
        timers.sort { first, second in
            if first.due != second.due { return first.due < second.due }
            if first.order == second.order { return first.number < second.number }
            return table.block(first.order).id.lexicographicallyPrecedes(table.block(second.order).id)
        }
        guard timers.count > limit else { return time }
        let last = timers[limit - 1].due
        timers.removeLast(timers.count - (timers.firstIndex { $0.due > last } ?? timers.count))
        return last
    }

    private func spread(ofPlaceIn block: OrderBlock) -> Int64 {
        limits.spread == 0 ? 0 : spread(of: OrderDraft(reading: block).place)
    }

    /// What becomes of a due timer: nil for one that the state no longer knows, since a member of it has expired.
    ///
    /// - Parameters:
    ///   - watermark: that the tick leads to.
    ///   - clock: of the transaction.
    func decide(_ timer: DueTimer, watermark: Int64, clock: Int64) -> Result<DueNotification, TimerDrop.Reason>? {
        let draft = OrderDraft(reading: table.block(timer.order))
        let header = draft.header
        let dateAt = header.dateAt != 0 ? header.dateAt : header.orderDateAt != 0 ? header.orderDateAt : header.slotAt
        guard isAlive(header.slotAt, header), isAlive(header.placeAt, header), isAlive(dateAt, header),
            let date = header.deliveryDate
        else { return nil }
        let timers = OrderTimers(header, spread: spread(of: draft.place))
        let number = Int(timer.number)
        let hasStatus = isAlive(header.statusAt, header, isOfEnd: true)
        if clock - timer.due > limits.maxLateness { return .failure(.init(.tooLate)) }
        if hasStatus, header.flags.contains(.isTerminal) { return .failure(.init(.ended)) }
        if number > 0 {
            guard hasStatus, header.flags.contains(.isUnpicked) else { return .failure(.init(.picked)) }
            if number + 1 < OrderTimers.count, timers.due(number + 1) <= watermark {
                return .failure(.init(.superseded))
            }
        }
        var notification = DueNotification(
            type: OrderTimers.type(of: number), number: Int64(number), orderID: draft.id, place: draft.place,
            date: date, slot: .init(start: header.slotStart, end: header.slotEnd),
            nominal: EventTime(milliseconds: timers.nominal(number)), due: EventTime(milliseconds: timer.due))
        if isAlive(header.visibleAt, header) { notification.visibleID = draft.visibleID }
        if isAlive(header.parentAt, header) { notification.parentID = draft.parentID }
        if isAlive(header.typeAt, header) {
            notification.orderType = header.flags.contains(.food) ? .food : .d2d
        }
        return .success(notification)
    }

    /// Everything that was due at or before this has gone.
    func fired(upTo watermark: Int64, undo: inout UndoLog) {
        undo.noteClock(newest: newest, watermark: self.watermark, of: partition)
        self.watermark = watermark
        updateEarliestDue()
    }

    /// Looks at every order: 10 ms for a million of them.
    func updateEarliestDue() {
        var earliest = Int64.max
        table.visit { _, block in
            let header = block.header
            guard header.start != 0 else { return }
            earliest = min(earliest, OrderTimers(header, spread: spread(ofPlaceIn: block)).next(after: watermark))
        }
        earliestDue = earliest
    }
}

extension TimerDrop {
    /// A reason as the error of a `Result`.
    struct Reason: Error {
        let drop: TimerDrop
        init(_ drop: TimerDrop) { self.drop = drop }
    }
}
