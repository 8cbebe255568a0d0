import KafkaClient

/// The transactions of a worker, one after the other, and the search for refused records in them.
///
///     idle ── begun ──► open ── commit ──► committing ── committed ──► idle
///      ▲                 │                     │
///      └── dropped, failed ───────────────────┘
///
/// It calls nothing and reads no clock: an input says what happened or what is wanted, and returns what the worker has
/// to do. One that does not fit the phase is a defect of this program; it changes nothing. A producer that was fenced
/// or has failed is no phase: its next call fails, and ``failed(_:)`` decides again.
struct TransactionMachine {
    enum Phase: Equatable {
        case idle
        /// Records may be written.
        case open(OpenTransaction)
        /// Nothing more may be written. From now on an error does not say whether the broker has committed.
        case committing(OpenTransaction)
    }

    private(set) var phase = Phase.idle
    private(set) var isolation = Isolation()
    private(set) var outlasts = Outlasts()

    // MARK: Begin

    enum BeginAction: Equatable {
        /// One is open.
        case nothing
        case begin
        /// A copy of a request of the last transaction may still be in flight: begin with a new producer (ADR 22).
        case replaceProducerAndBegin
    }

    /// Something is to be written.
    func begin(hasRepeatedRequests: Bool) throws(PipelineError) -> BeginAction {
        switch phase {
        case .idle: return hasRepeatedRequests ? .replaceProducerAndBegin : .begin
        case .open: return .nothing
        case .committing: throw misfit("a transaction was to begin")
        }
    }

    /// The producer has begun a transaction.
    ///
    /// - Parameter clock: the transaction's time in the journal.
    mutating func begun(now: ContinuousClock.Instant, clock: WallTime) throws(PipelineError) {
        guard case .idle = phase else { throw misfit("a transaction began") }
        phase = .open(OpenTransaction(began: now, clock: clock))
    }

    // MARK: What is in it

    /// Events were written.
    ///
    /// - Parameters:
    ///   - dated: how many of them have a timestamp.
    ///   - oldest: the oldest of those.
    mutating func wrote(events: Int, dated: Int, oldest: WallTime) throws(PipelineError) {
        try change("events were written") { open in
            open.events += events
            if dated > 0 { open.batches.append(.init(oldest: oldest, events: dated)) }
        }
    }

    /// Nothing waits to be read.
    mutating func caughtUp() {
        guard case .open(var open) = phase, !open.hasCaughtUp else { return }
        open.hasCaughtUp = true
        phase = .open(open)
    }

    /// The event that follows is the only one of this transaction.
    mutating func isolates(_ event: EventCoordinates, isDeadLetter: Bool) throws(PipelineError) {
        try change("an event was isolated") { open in
            open.alone = event
            open.aloneIsDeadLetter = isDeadLetter
        }
    }

    /// Timers follow, of which ``Isolation/tickLimit`` says how many.
    mutating func takesTimers() throws(PipelineError) {
        let limit = isolation.tickLimit
        try change("timers were to go") { open in
            open.hasTick = true
            open.tickLimit = limit
        }
    }

    /// The timers that follow are of this partition.
    mutating func takesTimers(of partition: Int32) throws(PipelineError) {
        try change("timers of a partition were to go") { $0.timersOf = partition }
    }

    /// Whether timers of a tick at `time` need a new transaction: a transaction has one clock, and no tick in it may be
    /// later; it may be full; and timers that are isolated need a transaction of their own.
    func mustCommit(beforeTimersAt time: WallTime, isFull: (OpenTransaction) -> Bool) -> Bool {
        guard let open else { return false }
        return isolation.tickLimit != nil || outlasts.hasLoneTimers || open.clock < time || isFull(open)
    }

    /// The open transaction; nil while there is none, or it is being committed.
    var open: OpenTransaction? {
        switch phase {
        case .open(let open): open
        case .idle, .committing: nil
        }
    }

    /// Whether no transaction is open or being committed.
    var isIdle: Bool {
        switch phase {
        case .idle: true
        case .open, .committing: false
        }
    }

    private mutating func change(
        _ input: String, _ body: (inout OpenTransaction) -> Void
    ) throws(PipelineError) {
        guard case .open(var open) = phase else { throw misfit(input) }
        phase = .idle
        body(&open)
        phase = .open(open)
    }

    // MARK: Its end

    enum CommitAction: Equatable {
        /// Nothing is open; or a commit has failed, and its transaction is still to be ended: the group can revoke the
        /// partitions before that, and a second attempt would write the journal twice.
        case nothing
        /// Write the journal, send the offsets, commit.
        case commit(OpenTransaction)
    }

    /// The open transaction is to be committed.
    mutating func commit() -> CommitAction {
        switch phase {
        case .idle, .committing: return .nothing
        case .open(let open):
            phase = .committing(open)
            return .commit(open)
        }
    }

    /// The broker has committed.
    ///
    /// - Parameters:
    ///   - wasQuick: it took a small part of its timeout.
    ///   - next: the next offset of a partition.
    mutating func committed(wasQuick: Bool, upTo next: (SourcePartition) -> Int64?) throws(PipelineError) {
        guard case .committing(let open) = phase else { throw misfit("a transaction was committed") }
        phase = .idle
        isolation.committed(upTo: next)
        outlasts.committed(open, wasQuick: wasQuick, upTo: next)
        if open.hasTick { isolation.tickCommitted(limit: open.tickLimit) }
    }

    /// A transaction that queried the broker's time is to be aborted. Nothing was processed in it, so there is nothing
    /// to forget.
    mutating func probed() throws(PipelineError) {
        guard case .open = phase else { throw misfit("the broker's time was known") }
        phase = .idle
    }

    enum EndAction: Equatable {
        case nothing
        /// Forget what was processed in it, and abort.
        case abort
        case replaceProducer(after: KafkaError)
        /// The same, after what was processed is forgotten: a delayed EndTxn may complete a later transaction of this
        /// producer (docs/kafka.md 4).
        case forgetAndReplaceProducer(after: KafkaError)
    }

    /// The open transaction, if there is one, is to have no effect.
    mutating func dropped() -> EndAction {
        let wasIdle = isIdle
        phase = .idle
        return wasIdle ? .nothing : .abort
    }

    /// The same, because of an error of the producer or of anything else in the worker.
    mutating func failed(_ error: KafkaError) -> EndAction {
        guard error.client == .producer else { return dropped() }
        switch error.recovery {
        case .abortTransaction, .giveUp:
            return dropped()
        case .retry, .recreateClient:
            let wasIdle = isIdle
            phase = .idle
            return wasIdle ? .replaceProducer(after: error) : .forgetAndReplaceProducer(after: error)
        }
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

    /// The transaction that is open or being committed.
    private var unended: OpenTransaction? {
        switch phase {
        case .idle: nil
        case .open(let open), .committing(let open): open
        }
    }

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

    private func misfit(_ input: String) -> PipelineError {
        .misfit(input, while: "a transaction was \(phase.name)")
    }
}

extension TransactionMachine.Phase {
    fileprivate var name: String {
        switch self {
        case .idle: "not open"
        case .open: "open"
        case .committing: "being committed"
        }
    }
}

extension PipelineError {
    /// An input that does not fit the phase of the worker's assignment or transaction.
    static func misfit(_ input: String, while phase: String) -> PipelineError {
        .defect("a defect of the worker: \(input) while \(phase)")
    }
}
