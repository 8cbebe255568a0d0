import KafkaClient
import Streaming

/// What a ``StreamWorker`` does with orders' events and requests.
///
///     consume ─► extract ─► fan out ─► tick ─► produce ─► journal ─► commit        (one Kafka transaction)
///
/// ``Flow`` decides; the tenant does what it says: where partitions begin in `PipelineTenant+Locating`, with the states
/// in `+Folds`, with records in `+Records`, with timers in `+Ticks`, in transactions in `+Transaction`. Nothing
/// here is shared with another thread but the ``WorkerContext``.
struct PipelineTenant: ~Copyable, Tenant {
    let slot: Slot
    let context: WorkerContext
    let logger: Logger
    /// What all journal entries of the process have in common.
    let origin: JournalEntry
    var output: TransactionOutput
    /// What has been read.
    var intake: Intake
    /// Turns it into records.
    var core: Flow
    /// What was processed and committed of the partitions; none while they are located.
    var positions = Positions()
    var transactions = WorkerTransactions()
    /// Of the requests that were read; nil: they do not wait.
    var tableWait: TableWait?
    /// The last request of ``TableGate/writes`` that was waited for in vain.
    var overdue = 0
    var ticks = PendingTicks()
    var folds: Folds
    /// While the states of some partitions are not yet those of the committed offsets.
    var refolding: RefoldReport?
    /// Whether the group has assigned any, also where none of them may be read now.
    var hasPartitions = false
    /// Records of the partitions come again.
    var hasGoneBack = false
    /// The table's barrier that fan-out waits for; nil while the partitions are others'.
    private var barrier: Int?
    var isTableReady = false
    private var isClockRight = false
    private var shown: ReadinessBoard.WorkerState?
    var growth = MemoryGrowth()
    /// It waits for records, and ``growth`` has noted since when.
    var isWaiting = false
    /// The state folder has a note of the growth.
    var hasNotedGrowth = false
    /// The consumer fetches one batch at a time, so that the position says which one took the memory; nil before there is
    /// one.
    var isCareful: Bool?
    /// Whether a partition had a turn when this worker gave up its own.
    var hadTurn = false
    /// The bytes that were read since the partitions' turns were considered.
    var readSinceHolds = 0

    init(
        _ slot: Slot, _ context: WorkerContext, _ transaction: Transaction, recipients: RecipientSource, logger: Logger
    ) throws {
        let configuration = context.configuration
        core = try Flow(configuration, audienceRule: context.audienceRule, recipients: recipients)
        self.slot = slot
        self.context = context
        self.logger = logger
        origin = context.journalOrigin
        output = TransactionOutput(transaction, slot: slot)
        intake = Intake(configuration.topics)
        let now = context.now
        folds = Folds(
            orders: SourceFold(checkpoint: Self.openCheckpoint(of: .orders, slot, context, logger), now: now),
            requests: SourceFold(checkpoint: Self.openCheckpoint(of: .requests, slot, context, logger), now: now))
    }

    static func contract(of slot: Slot, _ context: WorkerContext) -> Contract {
        let configuration = context.configuration
        let topics = configuration.topics
        var contract = Contract(
            group: configuration.groupID, slot: slot, isStatic: configuration.staticMembership,
            inputs: context.sources.map(topics.topic), outputs: [topics.dispatch, topics.deadLetters, topics.journal],
            settings: configuration.kafka,
            memberSettings: configuration.consumerSettings(queues: context.sources.count),
            transactionSettings: configuration.transactionSettings,
            transactionTimeout: configuration.transactionTimeout, commitInterval: configuration.commitInterval)
        contract.commitIntervalBehind = configuration.commitIntervalBehind
        // Extracted and resolved at once; a transaction holds several such batches, and its records stay in memory.
        (contract.batchRecords, contract.batchBytes) = (512, 8 << 20)
        contract.clock = context.sources.contains(.requests) ? .gatesSome : .gatesNothing
        contract.passes = context.holds.passed.ranges
        contract.clients = context.clients
        contract.onPassing = { context.board.passes($0.map { "\($0)" }, in: slot.description) }
        return contract
    }

    // MARK: Partitions

    mutating func refresh(isIdle: Bool) -> Bool {
        let barrier = self.barrier ?? context.gate.requestBarrier()
        self.barrier = barrier
        // Where they are is found out meanwhile.
        guard !positions.isEmpty else { return true }
        if hasGoneBack { beginRefold() }
        isTableReady = context.gate.isOpen(barrier, now: context.now)
        return isTableReady
    }

    func position(_ topicPartition: TopicPartition) -> Int64? {
        position(of: topicPartition).map { $0.isFolding ? $0.folded : $0.reached }
    }

    func unfinished(_ topicPartition: TopicPartition) -> Int64? { position(of: topicPartition)?.reached }

    private func position(of topicPartition: TopicPartition) -> Position? {
        context.configuration.topics.sourcePartition(of: topicPartition).flatMap { positions[$0] }
    }

    mutating func reached(_ offset: Int64, of topicPartition: TopicPartition) {
        guard let partition = context.configuration.topics.sourcePartition(of: topicPartition) else { return }
        positions[partition.source].reach(partition: partition.number, offset: offset)
        foldedToEnd(partition, offset)
    }

    mutating func letGo(isLast: Bool) -> Duration? {
        if isLast {
            forgetRecords()
            saveStates(isLast: true)
        }
        return nil
    }

    /// The states stay where they are committed: the next assignment often brings the partitions back.
    mutating func forgetRecords() {
        core.rollBack()
        for source in SourceKind.allCases { folds[source].offsets.merge(positions[source].committedFolds) { $1 } }
        intake.removeAll()
        tableWait = nil
        ticks.removeAll()
        hasGoneBack = !positions.isEmpty
    }

    mutating func release(_ reason: Release) {
        forgetRecords()
        positions.revokeAll()
        refolding = nil
        (hasPartitions, hasGoneBack, isTableReady) = (false, false, false)
        switch reason {
        case .toItself: break
        case .toOthers:
            barrier = nil
            hadTurn = context.holds.current != nil
            transactions.forgetRefusals()
            context.holds.leave(reader)
            context.meter.setPartitions(0, worker: slot.number)
        }
    }

    mutating func tend() throws -> Bool {
        saveStates()
        return try considerHolds()
    }

    // MARK: A round

    mutating func hear(_ now: WallTime, isClockRight: Bool) { self.isClockRight = isClockRight }

    /// A request expires by the clock, so that requests wait while that may be wrong (ADR 60); not what is left of a batch,
    /// since orders wait for it.
    func wants(_ input: Int) -> Bool {
        switch context.sources[input] {
        case .orders: true
        case .requests:
            !isWaitingForTable && isClockRight || intake.isAtWork && intake.source == .requests
        }
    }

    mutating func asked(_ input: Int, appended: WallTime?) {
        if appended == nil { ticks.yieldsTo.remove(input) }
    }

    var patience: Duration {
        if ticks.isUnderWay || isTickReady { return .zero }
        return isWaitingForTable ? .milliseconds(20) : IdleWait.woken
    }

    func clockRecord() throws -> (record: ProducerRecord, output: Int) { try output.journalRecord(origin) }

    func consider(_ error: any Error) throws(PipelineError) -> Bool {
        switch error {
        case is ClockAhead: break
        case let error as SubscriptionTableError where error.recovery != .retry:
            throw .defect("the subscriptions table cannot be used: \(error)")
        case _:
            if context.patience.isDue("fan-out") { logger.error("fan-out failed, the batch is retried: \(error)") }
        }
        return false
    }

    /// The committed offsets tell whether retention has overtaken a fold, which then begins again, or the group itself.
    func overtaken(_ error: KafkaError) -> PipelineError? { nil }

    mutating func replacedClient() { context.meter.count { $0.recreatedClients += 1 } }

    mutating func report(_ state: WorkerState, lag: [TopicPartition: Int]?) {
        let state: ReadinessBoard.WorkerState =
            switch state {
            case .joining: .joining
            case .locating: .positioning
            case .reading: refolding == nil ? .reading : .refolding
            }
        guard state != shown else { return }
        shown = state
        context.board.set(state, worker: slot.number)
    }

    func measured(lag: [TopicPartition: Int], hung: Set<TopicPartition>) {
        let topics = context.configuration.topics
        var ours: [SourcePartition: Int] = [:]
        var newest: [SourcePartition: WallTime] = [:]
        for (topicPartition, count) in lag {
            guard let partition = topics.sourcePartition(of: topicPartition) else { continue }
            ours[partition] = count
            newest[partition] = count > 0 ? positions[partition]?.newestTimestamp : nil
        }
        guard !ours.isEmpty else { return }
        context.meter.setWaiting(newest, clock: context.clock, worker: slot.number)
        let bySource = Dictionary(grouping: hung.compactMap(topics.sourcePartition), by: \.source)
        context.meter.setLag(ours, hungTransactions: bySource.mapValues(\.count), worker: slot.number)
    }
}
