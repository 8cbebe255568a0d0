import Streaming

/// What a worker of the pipeline has open, and the search in its transactions for records that are refused and for events
/// that take too long.
struct WorkerTransactions {
    private(set) var open: OpenTransaction?
    private(set) var isolation = Isolation()
    private(set) var outlasts = Outlasts()

    mutating func begun(_ time: TransactionTime) { open = OpenTransaction(time: time) }

    // MARK: What is in it

    /// Events were written.
    ///
    /// - Parameters:
    ///   - dated: how many of them have a timestamp.
    ///   - oldest: the oldest of those.
    mutating func wrote(events: Int, dated: Int, oldest: WallTime) {
        open?.events += events
        if dated > 0 { open?.batches.append(.init(oldest: oldest, events: dated)) }
    }

    /// Nothing more may be written.
    mutating func filled() { open?.isFull = true }

    /// The event that follows is the only one of this transaction.
    mutating func isolates(_ event: EventCoordinates, isDeadLetter: Bool) {
        open?.alone = event
        open?.aloneIsDeadLetter = isDeadLetter
    }

    /// Timers follow, of which ``Isolation/tickLimit`` says how many.
    mutating func takesTimers() {
        open?.hasTick = true
        open?.tickLimit = isolation.tickLimit
    }

    /// The timers that follow are of this partition.
    mutating func takesTimers(of partition: Int32) { open?.timersOf = partition }

    // MARK: Its end

    /// The broker has committed.
    ///
    /// - Parameters:
    ///   - wasQuick: it took a small part of its timeout.
    ///   - next: the next offset of a partition.
    mutating func committed(wasQuick: Bool, upTo next: (SourcePartition) -> Int64?) {
        guard let open else { return }
        isolation.committed(upTo: next)
        outlasts.committed(open, wasQuick: wasQuick, upTo: next)
        if open.hasTick { isolation.tickCommitted(limit: open.tickLimit) }
        self.open = nil
    }

    /// It has no effect.
    ///
    /// - Returns: whether there was one.
    mutating func dropped() -> Bool {
        defer { open = nil }
        return open != nil
    }

    // MARK: Refused records

    enum RefusalAction: Equatable {
        /// Abort, and process the batch again as ``isolation`` says.
        case retry
        /// Not even the dead letter of a single timer is accepted.
        case giveUpTimer
        /// Not even the truncated dead letter of this event is accepted.
        case giveUp(EventCoordinates)
    }

    /// The broker, or the client, has refused a record permanently. The transaction is still to be ended.
    ///
    /// - Parameters:
    ///   - error: its name.
    ///   - timers: how many were sent in the transaction.
    ///   - ends: the offset after the last event of it, by partition.
    mutating func refused(_ error: String, timers: Int, ends: [SourcePartition: Int64]) -> RefusalAction {
        if let open, open.hasTick {
            if isolation.tickRefused(timers: timers, limit: open.tickLimit) { return .giveUpTimer }
            if open.tickLimit != nil { return .retry }
        }
        let action = isolation.recordRefused(
            error: error, batch: ends, alone: open?.alone, wasDeadLetter: open?.aloneIsDeadLetter ?? false)
        switch action {
        case .retry: return .retry
        case .giveUp(let event): return .giveUp(event)
        }
    }

    // MARK: Transactions that become too old

    /// The transaction has been open for so long that the broker aborts it, and is still to be ended. Its events run one
    /// per transaction, so that the one that takes so long is found: a transaction that is too old costs its whole timeout,
    /// one of a single event some milliseconds.
    ///
    /// - Parameters:
    ///   - wasBusy: see ``Outlasts/wasBusy(late:timeout:)``.
    ///   - timers: how many were sent in it.
    ///   - ends: the offset after the last event of it, by partition.
    mutating func outlasted(wasBusy: Bool, timers: Int, ends: [SourcePartition: Int64]) {
        guard let open else { return }
        outlasts.note(open, timers: timers, wasBusy: wasBusy)
        if wasBusy { isolation.runAlone(below: ends) }
    }

    /// The partitions were taken away: their new owner looks for these events itself.
    mutating func forgetRefusals() {
        isolation.reset()
        outlasts = Outlasts()
    }
}
