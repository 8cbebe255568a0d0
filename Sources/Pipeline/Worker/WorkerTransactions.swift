import Hosting
import KafkaClient
import Streaming

/// The transactions of a worker of the pipeline, and the search in them for records that are refused and for events that
/// take too long. ``TransactionMachine`` has the phases.
struct WorkerTransactions {
    private(set) var machine = TransactionMachine<OpenTransaction>()
    private(set) var isolation = Isolation()
    private(set) var outlasts = Outlasts()

    /// Something is to be written.
    func begin(hasRepeatedRequests: Bool) throws(PipelineError) -> TransactionMachine<OpenTransaction>.BeginAction {
        try machine.begin(hasRepeatedRequests: hasRepeatedRequests)
    }

    /// The producer has begun a transaction.
    ///
    /// - Parameter clock: the transaction's time in the journal.
    mutating func begun(now: ContinuousClock.Instant, clock: WallTime) throws(PipelineError) {
        try machine.begun(OpenTransaction(began: now, clock: clock))
    }

    // MARK: What is in it

    /// Events were written.
    ///
    /// - Parameters:
    ///   - dated: how many of them have a timestamp.
    ///   - oldest: the oldest of those.
    mutating func wrote(events: Int, dated: Int, oldest: WallTime) throws(PipelineError) {
        try machine.change("events were written") { open in
            open.events += events
            if dated > 0 { open.batches.append(.init(oldest: oldest, events: dated)) }
        }
    }

    /// Nothing waits to be read.
    mutating func caughtUp() throws(PipelineError) {
        guard let open, !open.hasCaughtUp else { return }
        try machine.change("it has caught up") { $0.hasCaughtUp = true }
    }

    /// The event that follows is the only one of this transaction.
    mutating func isolates(_ event: EventCoordinates, isDeadLetter: Bool) throws(PipelineError) {
        try machine.change("an event was isolated") { open in
            open.alone = event
            open.aloneIsDeadLetter = isDeadLetter
        }
    }

    /// Timers follow, of which ``Isolation/tickLimit`` says how many.
    mutating func takesTimers() throws(PipelineError) {
        let limit = isolation.tickLimit
        try machine.change("timers were to go") { open in
            open.hasTick = true
            open.tickLimit = limit
        }
    }

    /// The timers that follow are of this partition.
    mutating func takesTimers(of partition: Int32) throws(PipelineError) {
        try machine.change("timers of a partition were to go") { $0.timersOf = partition }
    }

    /// Whether timers of a tick at `time` need a new transaction: a transaction has one clock, and no tick in it may be
    /// later; it may be full; and timers that are isolated need a transaction of their own.
    func mustCommit(beforeTimersAt time: WallTime, isFull: (OpenTransaction) -> Bool) -> Bool {
        guard let open else { return false }
        return isolation.tickLimit != nil || outlasts.hasLoneTimers || open.clock < time || isFull(open)
    }

    /// The open transaction; nil while there is none, or it is being committed.
    var open: OpenTransaction? { machine.open }

    /// Whether no transaction is open or being committed.
    var isIdle: Bool { machine.isIdle }

    // MARK: Its end

    /// See ``TransactionMachine/commit()``.
    mutating func commit() -> OpenTransaction? { machine.commit() }

    /// The broker has committed.
    ///
    /// - Parameters:
    ///   - wasQuick: it took a small part of its timeout.
    ///   - next: the next offset of a partition.
    mutating func committed(wasQuick: Bool, upTo next: (SourcePartition) -> Int64?) throws(PipelineError) {
        let open = try machine.committed()
        isolation.committed(upTo: next)
        outlasts.committed(open, wasQuick: wasQuick, upTo: next)
        if open.hasTick { isolation.tickCommitted(limit: open.tickLimit) }
    }

    /// It has only queried the broker's time. See ``TransactionMachine/unused()``.
    mutating func probed() throws(PipelineError) { try machine.unused() }

    /// See ``TransactionMachine/dropped()``.
    mutating func dropped() -> TransactionMachine<OpenTransaction>.EndAction { machine.dropped() }

    /// See ``TransactionMachine/failed(_:)``.
    mutating func failed(_ error: KafkaError) -> TransactionMachine<OpenTransaction>.EndAction {
        machine.failed(error)
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
        let refused = unended
        if let refused, refused.hasTick {
            if isolation.tickRefused(timers: timers, limit: refused.tickLimit) { return .giveUpTimer }
            if refused.tickLimit != nil { return .retry }
        }
        let action = isolation.recordRefused(
            error: error, batch: ends, alone: refused?.alone, wasDeadLetter: refused?.aloneIsDeadLetter ?? false)
        switch action {
        case .retry: return .retry
        case .giveUp(let event): return .giveUp(event)
        }
    }

    /// The event that a refusal without an event of its own is about: the only one of its transaction.
    var alone: EventCoordinates? { unended?.alone }

    private var unended: OpenTransaction? { machine.unended }

    // MARK: Transactions that become too old

    /// Whether the transaction has been open for so long that the broker aborts it.
    func hasOutlasted(_ timeout: Duration, now: ContinuousClock.Instant = .now) -> Bool {
        unended.map { now - $0.began >= timeout } ?? false
    }

    /// It has, and is still to be ended. Its events run one per transaction, so that the one that takes so long is found:
    /// a transaction that is too old costs its whole timeout, one of a single event some milliseconds.
    ///
    /// - Parameters:
    ///   - wasBusy: see ``Outlasts/wasBusy(late:timeout:)``.
    ///   - timers: how many were sent in it.
    ///   - ends: the offset after the last event of it, by partition.
    mutating func outlasted(wasBusy: Bool, timers: Int, ends: [SourcePartition: Int64]) {
        guard let unended else { return }
        outlasts.note(unended, timers: timers, wasBusy: wasBusy)
        if wasBusy { isolation.runAlone(below: ends) }
    }

    /// The partitions were taken away: their new owner looks for these events itself.
    mutating func forgetRefusals() {
        isolation.reset()
        outlasts = Outlasts()
    }
}
