import KafkaClient
import Streaming

/// The clock of this process is ahead of the broker's: its timers would be sent early (ADR 35).
struct ClockAhead: Error {
    /// By so many milliseconds.
    var milliseconds: Int64

    /// - Parameters:
    ///   - clock: of the transaction.
    ///   - appended: when the broker appended a record of it; nil where that is not known.
    init?(clock: WallTime, appended: WallTime?) {
        guard let appended, clock - appended > ClockCheck.tolerance else { return nil }
        milliseconds = clock - appended
    }
}

extension Worker {
    /// Commits the transaction of a tick, unless it is early by the broker's clock: its record in the journal is delivered
    /// first, and carries the broker's time where its topic has `message.timestamp.type=LogAppendTime`. What is early is
    /// aborted, and timers wait.
    mutating func commitTick() throws {
        do {
            try commit()
        } catch let ahead as ClockAhead {
            holdTimers(ahead)
            try discardTransaction()
            rewind()
        }
    }

    /// The last check before a transaction with timers is committed.
    mutating func checkClock(of open: OpenTransaction) throws {
        let appended = try output.deliver(deadline: context.configuration.transactionTimeout)
        if let ahead = ClockAhead(clock: open.clock, appended: appended) { throw ahead }
    }

    /// Queries the broker's time again, once per tick: by a record of the journal in a transaction that is aborted.
    ///
    /// - Returns: whether timers may be sent.
    mutating func isClockRight() throws -> Bool {
        guard ticks.clockAhead != nil else { return true }
        let (clock, appended) = try askForTime()
        if let ahead = ClockAhead(clock: clock, appended: appended) {
            holdTimers(ahead)
            return false
        }
        ticks.clockAhead = nil
        context.meter.setClockAhead(0, worker: slot.number)
        logger.notice("the clock agrees with the broker's again: timers are sent")
        return true
    }

    /// A transaction's clock, and when the broker appended its only record, the journal's. It is aborted.
    private mutating func askForTime() throws -> (clock: WallTime, appended: WallTime?) {
        try commit()
        try begin()
        guard let open = transaction.open else {
            throw PipelineError.misfit("the broker's time was asked for", while: "idle")
        }
        _ = try writeJournal(of: open)
        let appended = try output.deliver(deadline: context.configuration.transactionTimeout)
        try endProbe()
        return (open.clock, appended)
    }

    /// Whether a source may be read: a request expires by the clock, so that it waits while that may be wrong (ADR 60).
    func mayRead(_ source: SourceKind) -> Bool {
        switch source {
        case .orders: true
        case .requests: clock.isRight(context.host)
        }
    }

    /// Compares the clock with the broker's where requests depend on it.
    mutating func compareClocks() throws {
        guard context.sources.contains(.requests), clock.isLookDue(context.host) else { return }
        clock.compare(try askForTime().appended, context.host, of: slot.label, logger)
    }

    /// Nothing has been processed in the transaction, so there is nothing to go back to.
    private mutating func endProbe() throws {
        try transaction.probed()
        core.endTransaction()
        do {
            try abort()
        } catch {
            try replaceProducer(after: error)
        }
    }

    private mutating func holdTimers(_ ahead: ClockAhead) {
        ticks.clockAhead = ahead
        context.meter.setClockAhead(ahead.milliseconds / 1000, worker: slot.number)
        if context.patience.isDue("clock-ahead") {
            logger.warning(
                "the clock is \(ahead.milliseconds / 1000) s ahead of the broker's: timers wait until it agrees; set "
                    + "this machine's clock")
        }
    }
}
