import KafkaClient
import Streaming

/// One worker: one thread with its own consumer and its own transactional producer.
///
///     consume ─► extract ─► fan out ─► tick ─► produce ─► journal ─► commit        (one Kafka transaction)
///
/// ``run()`` is the thread's loop. Two values decide what comes next and are tested without a broker: the
/// ``WorkerAssignment`` (what is read, and from where) and the ``WorkerTransactions`` (what is open, and how it ends). The
/// worker does what they say, with its clients: to partitions in `Worker+Assignment`, to the state of orders in
/// `Worker+Orders`, to records in `Worker+Reading` and `Worker+Batch`, to timers in `Worker+Ticks`, to transactions in
/// `Worker+Transaction`, and after an error in `Worker+Recovery`. Nothing here is shared with another thread but the
/// ``WorkerContext``.
struct Worker: ~Copyable, GroupWorker {
    let slot: Slot
    let context: WorkerContext
    let logger: Logger
    var consumer: Consumer
    var output: TransactionOutput
    /// What has been read.
    var intake: Intake
    /// Turns it into records.
    var core: Flow
    var assignment = WorkerAssignment()
    var transaction = WorkerTransactions()
    var ticks = PendingTicks()
    var folds: OrderFolds
    var health = ClientHealth()
    var growth = MemoryGrowth()
    var clock = ClockCheck()
    /// The state folder has a note of the growth.
    var hasNotedGrowth = false
    /// The consumer fetches one batch at a time.
    var isCareful: Bool
    /// The bytes that were read since the partitions' turns were considered.
    var readSinceHolds = 0

    init(slot: Slot, context: WorkerContext, recipients: RecipientSource, logger: Logger) throws {
        let configuration = context.configuration
        let core = try Flow(configuration, audienceRule: context.audienceRule, recipients: recipients)
        let output = try Self.makeOutput(slot: slot, context: context, logger: logger)
        let isCareful = context.holds.needsCare(context.sources.map(configuration.topics.topic))
        let consumer = try Self.makeConsumer(slot: slot, context: context, isCareful: isCareful, logger: logger)
        self.slot = slot
        self.context = context
        self.logger = logger
        self.consumer = consumer
        self.output = output
        intake = Intake(configuration.topics)
        folds = OrderFolds(checkpoint: Self.openCheckpoint(slot: slot, context: context, logger: logger))
        self.core = core
        self.isCareful = isCareful
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
                try considerHolds()
                try advanceAssignment()
                if assignment.canWork(isTableReady: context.gate.isOpen(assignment.barrier)) {
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
        // Records that were not processed would keep the client in the group.
        intake.removeAll()
        consumer.close()
    }

    /// One round: as many records as there are, up to a batch, through the core into the open transaction.
    private mutating func work() throws {
        try compareClocks()
        try read()
        try refold()
        if intake.batch.records.isEmpty { ticks.yieldsToEvents = false } else { try process() }
        try tick()
        if consumer.waitingRecords == 0 { try transaction.caughtUp() }
        if transaction.open?.isDue(context.configuration) == true { try commit() }
        saveOrders()
    }
}
