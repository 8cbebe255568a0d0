import Events
import FanOut
import KafkaClient
import NotificationPayload
import OrderState
import Telemetry

/// One worker: one thread with its own consumer and its own transactional producer.
///
///     consume ─► extract ─► fan out ─► tick ─► produce ─► journal ─► commit        (one Kafka transaction)
///
/// `run()` is the whole life; what it does to partitions is in `Worker+Assignment`, to the state of orders in
/// `Worker+Orders`, to timers in `Worker+Ticks`, to transactions in `Worker+Transaction`, and after an error in
/// `Worker+Recovery`. Nothing here is shared with another thread but the ``WorkerContext``.
struct Worker: ~Copyable {
    let slot: Slot
    let context: WorkerContext
    let logger: Logger
    var consumer: Consumer
    var output: TransactionOutput
    var core: PipelineCore
    var positions = Positions()
    var assignment = AssignmentProgress()
    var folds = OrderFolds()
    var ticks = PendingTicks()
    var checkpoint: OrderCheckpoint?
    var transaction: OpenTransaction?
    var isolation = Isolation()
    var fencings = Fencings()
    var backoff = Backoff()
    var watch = ConsumerWatch()
    var hungTransactions = HungTransactionWatch()
    var group: GroupMetadata?
    /// Timers wait for the clock; nil: they go.
    var clockAhead: ClockAhead?
    /// A refusal at the start: librdkafka reports some of them once and goes on about them in silence.
    var refusal: KafkaError?
    private var records = RecordBatch()
    private(set) var batch: EventBatch
    /// Records below the committed offset, which are folded in silence.
    var refoldBatch: EventBatch
    let journalOrigin: JournalEntry.Origin
    var journalText = ByteWriter()

    /// How many records are extracted and resolved at once; a transaction holds several such batches.
    private static let batchLimit = 512
    /// And how many bytes: a batch's records stay in memory until it is done.
    private static let batchBytes = 8 << 20

    init(slot: Slot, context: WorkerContext, recipients: RecipientSource, logger: Logger) throws {
        let configuration = context.configuration
        let fanOut = try FanOut(
            audienceRule: context.audienceRule, recipients: recipients, maxAge: configuration.subscriptionsMaxAge,
            maxDevices: configuration.maxDevicesPerEvent)
        let output = try Self.makeOutput(slot: slot, context: context, logger: logger)
        let consumer = try Self.makeConsumer(slot: slot, context: context, logger: logger)
        self.slot = slot
        self.context = context
        self.logger = logger
        self.consumer = consumer
        self.output = output
        journalOrigin = context.journalOrigin
        checkpoint = Self.openCheckpoint(slot: slot, context: context, logger: logger)
        batch = EventBatch(topic: configuration.topics.events)
        refoldBatch = EventBatch(topic: configuration.topics.events)
        core = PipelineCore(
            rules: configuration.rules, orders: configuration.orders, rendering: configuration.rendering,
            maxDevicesPerEvent: configuration.maxDevicesPerEvent, fanOut: fanOut)
    }

    /// Works until the pipeline drains or stops.
    ///
    /// - Throws: ``PipelineError`` where the process must end; everything else is recovered from in here.
    mutating func run() throws {
        while !context.mustStop {
            do {
                if context.mustEnd {
                    try commit()
                    return saveOrders(isLast: true)
                }
                try serveControl(timeout: .zero)
                try considerRefusal()
                try advanceAssignment()
                if canWork {
                    try work()
                } else {
                    try commit()
                    saveOrders()
                    try serveControl(timeout: .milliseconds(50))
                }
            } catch {
                try recoverFully(from: error)
            }
        }
    }

    /// Leaves the group, or stays its static member, and frees both clients.
    consuming func close() {
        consumer.close()
    }

    private var canWork: Bool {
        !positions.isEmpty && assignment.isDone && context.gate.isOpen(assignment.barrier)
    }

    /// One round: as many records as there are, up to a batch, through the core into the open transaction.
    private mutating func work() throws {
        records.removeAll()
        let patience =
            ticks.isUnderWay
            ? .zero
            : transaction.map { $0.remaining(of: context.configuration.commitInterval) } ?? .milliseconds(50)
        consumer.fill(&records, limit: Self.batchLimit, maxBytes: Self.batchBytes, timeout: patience)
        try considerErrors(records.errors)
        try watchConsumer()
        takeOver()
        try refold()
        if batch.records.isEmpty { ticks.yieldsToEvents = false } else { try process() }
        try tick()
        if transaction?.isDue(context.configuration, waiting: consumer.waitingRecords) == true { try commit() }
        saveOrders()
    }

    /// Looks after a consumer that has been quiet for long.
    private mutating func watchConsumer() throws {
        for end in records.endsOfPartition {
            positions.reach(partition: end.partition.partition, offset: end.offset.value)
        }
        if !records.isEmpty || !records.endsOfPartition.isEmpty {
            refusal = nil
            return noteProgress()
        }
        guard watch.isCheckDue() else { return }
        let topic = context.configuration.topics.events
        let owned = positions.owned.map { TopicPartition(topic: topic, partition: $0) }
        guard let found = try? consumer.endOffsets(owned, timeout: .seconds(2)) else { return noteProgress() }
        let ends = Dictionary(uniqueKeysWithValues: found.map { ($0.key.partition, $0.value.value) })
        let isStuck = watch.isStuck(ends: ends, reached: { [positions] in positions[$0]?.reached ?? .max })
        context.board.consumerIsHopeless(watch.isHopeless, of: "worker \(slot.number)")
        if isStuck { throw KafkaError.stuckConsumer }
    }

    private mutating func noteProgress() {
        let wasHopeless = watch.isHopeless
        watch.progressed(hasRecords: !records.isEmpty)
        if wasHopeless { context.board.consumerIsHopeless(watch.isHopeless, of: "worker \(slot.number)") }
    }

    /// Gives the records that were read back to their consumer, which they keep alive.
    mutating func releaseRecords() {
        batch.removeAll()
        refoldBatch.removeAll()
        records.removeAll()
    }

    /// Puts the records that are to be processed into the batch.
    private mutating func takeOver() {
        batch.removeAll()
        refoldBatch.removeAll()
        for header in records.headers { batch.headers.append(EventHeader(header)) }
        let isFolding = positions.foldingCount > 0
        for index in 0..<records.count {
            let record = records[index]
            if isFolding, setAside(record) { continue }
            guard positions.accepts(partition: record.partition, offset: record.offset) else { continue }
            batch.records.append(EventRecord(record))
        }
        guard isFolding else { return }
        if !refoldBatch.records.isEmpty { refoldBatch.headers.append(contentsOf: batch.headers) }
        for end in records.endsOfPartition { noteFold(of: end.partition.partition, upTo: end.offset.value) }
    }

    /// Takes a record that is only to be folded; one behind the committed offset says that all of those have come.
    private mutating func setAside(_ record: RecordView) -> Bool {
        let isToFold = positions.isToFold(partition: record.partition, offset: record.offset)
        if isToFold { refoldBatch.records.append(EventRecord(record)) }
        noteFold(of: record.partition, upTo: record.offset + (isToFold ? 1 : 0))
        return isToFold
    }

    private mutating func noteFold(of partition: Int32, upTo offset: Int64) {
        if positions.fold(partition: partition, upTo: offset) { folds.finished.append(partition) }
    }

    /// Extracts the batch and emits it, in as many transactions as its output needs.
    private mutating func process() throws {
        var next = 0
        while next < batch.records.count {
            let extracted = try extract(from: next)
            while next < extracted {
                try begin()
                if isolation.isActive { applyTreatment(of: next) }
                let emitted = try emit(next..<(isolation.isActive ? next + 1 : extracted))
                advance(over: next..<emitted)
                next = emitted
                try context.reach(.afterProduce, worker: slot.number)
                if next < extracted || isolation.isActive || core.needsWholeBatches { try commit() }
            }
        }
    }

    private mutating func extract(from first: Int) throws -> Int {
        guard core.needsWholeBatches, !isolation.isActive else {
            return core.extract(&batch, from: first, supersedes: false)
        }
        try begin()
        return try core.extractWhole(&batch, from: first, limit: context.configuration.commitMaxRecords)
    }

    private mutating func emit(_ records: Range<Int>) throws -> Int {
        if core.needsWholeBatches { return try core.emit(batch, records, limit: .max, into: &output) }
        let configuration = context.configuration
        let open = transaction
        return try core.emit(
            batch, records, limit: configuration.commitMaxRecords, isTimeUp: { open?.isOld(configuration) ?? false },
            into: &output)
    }

    private mutating func advance(over records: Range<Int>) {
        var dated = (oldest: Int64.max, events: 0)
        for index in records {
            let record = batch.records[index]
            positions.advance(over: record)
            guard let timestamp = record.timestamp?.milliseconds else { continue }
            dated = (min(dated.oldest, timestamp), dated.events + 1)
        }
        transaction?.events += records.count
        if dated.events > 0 { transaction?.batches.append(dated) }
    }

    /// Prepares an event that runs alone because its batch was refused (kafka-rules 20).
    private mutating func applyTreatment(of record: Int) {
        let event = Coordinates(partition: batch.records[record].partition, offset: batch.records[record].offset)
        let treatment = isolation.treatment(of: event)
        output.truncatesDeadLetters = treatment == .truncatedDeadLetter
        if treatment != .asItIs, !core.isDeadLetter(record: record) {
            core.condemn(
                record: record,
                DeadLetter(.recordRefused, "the broker refuses what this event gives: \(isolation.lastError ?? "")"))
        }
        transaction?.alone = event
        transaction?.aloneIsDeadLetter = core.isDeadLetter(record: record)
    }
}
