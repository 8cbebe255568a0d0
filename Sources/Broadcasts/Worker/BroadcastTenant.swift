import KafkaClient
import Pipeline
import StateStore
import Streaming

/// Sends broadcasts to the devices of some partitions of the subscriptions.
///
///     slices of passes ─► records of the subscriptions ─► what joiners have missed ─► journal and offsets
///
/// in one Kafka transaction, and then again. ``BroadcastCore`` decides; a ``StreamWorker`` has the partitions and the
/// transactions.
struct BroadcastTenant: ~Copyable, Tenant {
    /// What passes and joiners get must have been true so short a time before.
    static let freshness = Duration.seconds(1)
    /// Offsets are committed again after this time, so that their age shows that somebody works on the partition.
    static let commitAgain: Int64 = 3_600_000
    /// Another process's view may be newer, by a moment.
    private static let longestBehind = Duration.seconds(30)

    let context: BroadcastContext
    let logger: Logger
    private let slot: Slot
    private let deadLetters: DeadLetterLog
    private let origin: BroadcastJournalEntry
    private var output: TransactionOutput
    var core: BroadcastCore
    /// When the end was asked for that the core's view has reached.
    private var viewAskedAt: ContinuousClock.Instant?
    /// Since when the log of broadcasts ends before what the group has seen of it.
    private var behindSince: ContinuousClock.Instant?
    var nextFlush: ContinuousClock.Instant

    init(_ slot: Slot, _ context: BroadcastContext, _ transaction: Transaction, logger: Logger) {
        let configuration = context.configuration
        let topics = configuration.topics
        core = BroadcastCore(
            BroadcastSettings(
                topic: topics.broadcasts, subscriptionsTopic: topics.subscriptions,
                rendering: configuration.rendering, maxAge: configuration.subscriptionsMaxAge.wholeMilliseconds,
                mostLate: configuration.broadcasts.mostLate, mostRecords: configuration.commitMaxRecords))
        origin = BroadcastJournalEntry(
            group: context.group, cluster: context.log.cluster, dispatch: topics.broadcastDispatch,
            rules: configuration.rulesHash)
        output = TransactionOutput(transaction, slot: slot)
        deadLetters = DeadLetterLog(context.patience, topic: topics.deadLetters)
        nextFlush = context.now + .seconds(10)
        self.slot = slot
        self.context = context
        self.logger = logger
    }

    static func contract(of slot: Slot, _ context: BroadcastContext) -> Contract {
        let configuration = context.configuration
        let topics = configuration.topics
        var contract = Contract(
            group: context.group, slot: slot, isStatic: configuration.staticMembership,
            inputs: [topics.subscriptions], readsHeaders: false,
            outputs: [topics.broadcastDispatch, topics.deadLetters, topics.broadcastJournal],
            settings: configuration.kafka, memberSettings: configuration.consumerSettings(queues: 1),
            transactionSettings: configuration.transactionSettings,
            transactionTimeout: configuration.transactionTimeout,
            commitInterval: min(configuration.commitInterval, freshness))
        contract.clients = context.clients
        return contract
    }

    mutating func refresh(isIdle: Bool) throws -> Bool {
        let view = context.follower.view
        guard view.isFresh(within: Self.freshness, now: context.now) else { return false }
        if isIdle { try update(view) }
        return true
    }

    private mutating func update(_ view: BroadcastView) throws(PipelineError) {
        viewAskedAt = view.freshSince
        if view.reached != core.reached || view.records.count != core.count {
            core.update(view.records, reached: view.reached)
        }
        guard core.isBehind else {
            behindSince = nil
            return
        }
        let since = behindSince ?? context.now
        behindSince = since
        guard context.now - since < Self.longestBehind else {
            let topic = context.configuration.topics.broadcasts
            throw .decisionNeeded(
                "\(topic) ends at offset \(view.reached), and the group \(context.group) has seen later ones: it was created "
                    + "again; end every process of the group, remove its offsets, and start it again")
        }
    }

    func position(_ partition: TopicPartition) -> Int64? { core.position(partition.partition) }

    /// Short while there is something to send.
    var patience: Duration { core.owned.contains { core.isBusy($0) } ? .milliseconds(2) : IdleWait.looking }

    func topicPartition(_ number: Int32) -> TopicPartition {
        TopicPartition(topic: context.configuration.topics.subscriptions, partition: number)
    }

    // MARK: A transaction

    /// Who leaves by records that are not taken yet gets nothing for having joined before. Only where joiners may get
    /// something.
    var looksAheadFrom: [TopicPartition: Offset] {
        guard core.hasValid(clock: context.clock.now()) else { return [:] }
        var starts: [TopicPartition: Offset] = [:]
        for number in core.owned {
            guard let ahead = core.ahead(number), !context.isReached(number, at: ahead)
            else { continue }
            starts[topicPartition(number)] = Offset(ahead)
        }
        return starts
    }

    mutating func look(ahead batch: borrowing RecordBatch) {
        let partitions = Int(context.log.partitions)
        for index in 0..<batch.count {
            core.look(ahead: SubscriptionRecord(of: batch, at: index, partitions: partitions))
        }
    }

    mutating func looked(ahead ends: [TopicPartition: Offset], askedAt: ContinuousClock.Instant) -> Bool {
        for (topicPartition, end) in ends { core.looked(ahead: end.value, of: topicPartition.partition) }
        return context.now - min(askedAt, viewAskedAt ?? askedAt) < Self.freshness
    }

    /// Slices of passes.
    mutating func act(_ time: TransactionTime) throws -> Bool {
        guard isFresh else { return false }
        var budget = min(context.configuration.commitMaxRecords, context.budget)
        for partition in core.owned where budget > 0 && core.isBusy(partition) {
            guard let position = core.position(partition),
                context.isReached(partition, at: position)
            else { continue }
            let before = core.open.sent
            try core.send(partition, clock: time.clock, budget: &budget, into: &output)
            context.take(core.open.sent - before)
        }
        return core.open.hasWork
    }

    /// A joiner gets what it has missed, which counts against the rate.
    func wants(_ input: Int) -> Bool { context.budget > 0 }

    mutating func take(
        _ batch: borrowing RecordBatch, from first: Int, of input: Int, _ time: TransactionTime
    ) throws -> Int {
        guard isFresh, !isFull else { return first }
        let planned = core.open.planned
        var next = first
        while next < batch.count, core.hasRoom {
            let record = SubscriptionRecord(of: batch, at: next, partitions: Int(context.log.partitions))
            try core.take(record, timestamp: batch[next].timestamp, clock: time.clock) {
                batch.header(SubscriptionRecord.sinceHeader, at: next)
            }
            next += 1
        }
        context.take(core.open.planned - planned)
        return next
    }

    /// Whether the core's view still is that of a moment ago: the process may have been stopped since.
    private var isFresh: Bool { viewAskedAt.map { context.now - $0 < Self.freshness } ?? false }

    private var isFull: Bool { !core.hasRoom || core.open.taken >= context.configuration.commitMaxEvents }

    mutating func reached(_ offset: Int64, of partition: TopicPartition) {
        core.reached(offset, of: partition.partition)
    }

    func mustCommit(isOpen: Bool) -> Bool {
        if isOpen { return core.open.hasWork || isFull }
        let oldest = context.clock.now() - Self.commitAgain
        return core.owned.contains { (core.committed($0)?.time ?? oldest) < oldest }
    }

    /// What joiners have missed, the journal, the offsets.
    mutating func finish(_ time: TransactionTime) throws -> [TopicPartition: CommittedOffset]? {
        try core.sendLate(into: &output)
        let oldest = time.clock - Self.commitAgain
        guard let (offsets, entry) = core.finish(clock: time.clock, oldest: oldest, origin: origin) else {
            return nil
        }
        try output.journal(entry)
        var committed: [TopicPartition: CommittedOffset] = [:]
        for (number, offset) in offsets {
            committed[topicPartition(number)] = CommittedOffset(
                offset: Offset(offset.offset), metadata: offset.metadata)
        }
        return committed
    }

    mutating func committed() {
        context.meter.committed(core.open)
        deadLetters.committed(core.open.deadLetters, first: core.open.firstDeadLetter, logger)
        core.committed()
        output.truncatesDeadLetters = false
    }

    mutating func aborted() {
        context.meter.aborted()
        core.aborted()
    }

    mutating func refused(_ refusal: Remedy.Refusal) throws(PipelineError) {
        guard !output.truncatesDeadLetters else { throw .refused(refusal) }
        output.truncatesDeadLetters = true
    }

    // MARK: Beside transactions

    /// A damaged table is filled again; one that cannot be written is waited for.
    func consider(_ error: any Error) throws(PipelineError) -> Bool {
        switch (error as? StoreError)?.recovery {
        case .stop: throw .defect("a table of channels cannot be used: \(error)")
        case .wipe: logger.error("\(error): it is filled again")
        case .retry, nil: if context.patience.isDue("store") { logger.error("\(error); tried again") }
        }
        return true
    }

    func overtaken(_ error: KafkaError) -> PipelineError? {
        .decisionNeeded(
            "the log of subscriptions no longer has the next offset (\(error)): remove the offsets of the group "
                + "\(context.group), and start it again")
    }

    func clockRecord() throws -> (record: ProducerRecord, output: Int) { try output.journalRecord(origin) }

    func report(_ worker: WorkerState, lag: [TopicPartition: Int]?) {
        var state = BroadcastBoard.Worker(partitions: core.owned.count)
        state.isReading = worker == .reading
        state.passes = core.owned.count { core.committed($0)?.pass != nil }
        state.oldestWaiting = core.oldestWaiting
        for (topicPartition, count) in lag ?? [:] { state.lag[topicPartition.partition] = count }
        state.isFresh = context.follower.view.isFresh(within: .seconds(10), now: context.now)
        context.board.set(state, of: slot.number)
    }
}

extension TransactionOutput: BroadcastSink {
    package mutating func dispatch(_ record: DispatchRecord) throws { try dispatch(record, tag: 0) }

    package mutating func deadLetter(
        key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?, headers: UnsafeBufferPointer<EventHeader>,
        own: Int
    ) throws {
        try deadLetter(key: key, value: value, headers: headers, own: own, tag: 0)
    }
}
