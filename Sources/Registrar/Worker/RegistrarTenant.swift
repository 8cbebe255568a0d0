import Hosting
import JSONReader
import KafkaClient
import Notifications
import Pipeline
import StateStore
import Streaming

/// Decides the commands of the log, in its order.
///
///     a command ─► ``RegistrarCore`` ─► devices, people, erasures, subscriptions, a verdict ─► offset
///
/// in one Kafka transaction for as many commands as have come. ``RegistrarCore`` decides; a ``StreamWorker`` has the
/// partition and the transactions. Commands have one partition, so that of all registrars of a group one has it.
struct RegistrarTenant: ~Copyable, Tenant {
    /// In the order of ``Contract/outputs``.
    enum Output: Int { case devices, people, erasures, subscriptions, verdicts, control }

    /// So long after a commit the markers of its transaction are in every partition.
    private static let settled = Duration.seconds(60)
    private static let tooMuch = "what follows from it is too much for one transaction, or larger than the broker takes"

    let context: RegistrarContext
    let logger: Logger
    private let transaction: Transaction
    /// What it knows; nil while the commands are not its own.
    var fold: RegistrarFold?
    /// The next command, and the one at which the group is.
    var next: Int64 = 0
    var committedNext: Int64 = 0
    /// Whether the group had an offset where it began.
    var hasOffset = true
    /// The commands below were decided before the group had one.
    var firstUndecided: Int64 = 0
    private var open = OpenDecisions()
    private var own = OwnWrites()
    /// What the open transaction writes again.
    private var restoring: [OwnWrites.Overwritten] = []
    /// So many are written again in a transaction at most: fewer and fewer, to find out which one cannot be.
    private var mostRestored = Int.max
    /// The commands below are decided one in a transaction, to find out which one cannot be written.
    private var aloneBelow: Int64 = 0
    /// Commands of which what follows cannot be written.
    private var unwritable: Set<Int64> = []
    private var json = JSONReader()
    /// The high watermarks of what is folded, asked for after the group's offset was known; nil before.
    var highs: [TopicPartition: Offset]?
    /// Where the logs that are folded began, and they and the commands ended, when they were located.
    var starts: [TopicPartition: Offset] = [:]
    var ends: [TopicPartition: Offset] = [:]
    var nextFlush: ContinuousClock.Instant
    private var lastCommit: ContinuousClock.Instant

    init(_ context: RegistrarContext, _ transaction: Transaction, logger: Logger) {
        self.context = context
        self.transaction = transaction
        self.logger = logger
        nextFlush = context.now + .seconds(10)
        lastCommit = context.now
    }

    static func contract(of slot: Slot, _ context: RegistrarContext) -> Contract {
        let configuration = context.configuration
        let topics = configuration.topics
        var contract = Contract(
            group: context.group, slot: slot, isStatic: configuration.staticMembership, inputs: [topics.commands],
            readsHeaders: false,
            outputs: [topics.devices, topics.people, topics.erasures, topics.subscriptions, topics.verdicts]
                + topics.withdrawing,
            settings: configuration.kafka, memberSettings: configuration.consumerSettings(queues: 1),
            transactionSettings: configuration.transactionSettings,
            transactionTimeout: configuration.transactionTimeout, commitInterval: configuration.commitInterval)
        // A command is as old as the broker says.
        contract.clock = .gatesNothing
        contract.clients = context.clients
        // Of a backlog as many are decided in a transaction.
        contract.batchRecords = 5_000
        return contract
    }

    var partition: TopicPartition { TopicPartition(topic: context.configuration.topics.commands, partition: 0) }

    func position(_ partition: TopicPartition) -> Int64? { fold == nil ? nil : next }

    var patience: Duration { IdleWait.looking }

    /// Between two transactions the table takes what others have subscribed.
    mutating func refresh(isIdle: Bool) throws -> Bool {
        guard isIdle, let fold, let taken = context.feed.take() else { return true }
        for change in taken.changes where own.isNews(change) && change.offset >= fold.position(change.partition) {
            fold.table.set(change.key, change.entry)
        }
        fold.table.commit()
        fold.reached(taken.reached)
        if let freshSince = taken.freshSince, freshSince >= lastCommit + Self.settled { own.forgetAll() }
        fold.needed = own.needed
        return true
    }

    // MARK: A transaction

    /// Writes again what burials have overwritten without knowing it.
    mutating func act(_ time: TransactionTime) throws -> Bool {
        // What the group has no offset for yet is passed first.
        guard let fold, next >= firstUndecided else { return false }
        if own.overwritten.isEmpty { mostRestored = .max }
        restoring = Array(own.overwritten.values.prefix(min(mostRestored, context.configuration.commitMaxRecords)))
        for entry in restoring {
            try transaction.write(ProducerRecord(entry), to: Output.subscriptions.rawValue)
            fold.table.set(entry.theirs.key, entry.theirs.entry)
        }
        return !restoring.isEmpty
    }

    mutating func take(
        _ batch: borrowing RecordBatch, from first: Int, of input: Int, _ time: TransactionTime
    ) throws -> Int {
        guard let fold else { return first }
        var index = first
        while index < batch.count, !isFull {
            let record = batch[index]
            if record.offset >= max(next, firstUndecided) { try decide(record, fold.core) }
            next = max(next, record.offset + 1)
            index += 1
        }
        return index
    }

    private var isFull: Bool {
        if mostRestored < .max, !restoring.isEmpty { return true }
        let most = next <= aloneBelow ? 1 : context.configuration.commitMaxEvents
        return open.commands >= most || open.records >= context.configuration.commitMaxRecords
    }

    private mutating func decide(_ record: RecordView, _ core: RegistrarCore) throws {
        guard let value = record.value, let command = Command(Array(value), &json) else {
            logger.warning(
                "a record is no command of this version", ["record": "\(partition)/\(record.offset)"])
            return try write(Decision(.malformed), for: record.offset)
        }
        guard !unwritable.contains(record.offset) else {
            return try write(Decision(.refused(.invalid([Self.tooMuch]))), for: record.offset)
        }
        try write(
            try core.decide(command, at: record.offset, time: record.timestamp ?? .epoch), for: record.offset)
    }

    /// Writes what follows from a command, in the order in which a reader of one topic after the other is never told of
    /// something that is not there: subscriptions last but for the verdict.
    private mutating func write(_ decision: Decision, for command: Int64) throws {
        open.note(decision, for: command)
        for (id, state) in decision.devices { try write(.devices, id.text, state?.json) }
        for (id, state) in decision.people { try write(.people, id.text, state?.json) }
        for erasure in decision.erasures { try write(.erasures, erasure.person.hex, erasure.json) }
        for change in decision.subscriptions {
            let mark = Self.mark(decision.evidence, change.key, fold)
            let record = ProducerRecord(change, for: command, mark)
            try transaction.write(record, to: Output.subscriptions.rawValue)
        }
        if !context.configuration.topics.withdrawing.isEmpty {
            for withdrawal in decision.withdrawals {
                let key = ControlKey.address(withdrawal.address, command: command)
                try write(.control, key.text, WithdrawalEntry.json(of: withdrawal.audiences))
            }
        }
        let verdict = ProducerRecord(key: nil, value: decision.verdict.json(of: command), partition: 0)
        try transaction.write(verdict, to: Output.verdicts.rawValue)
    }

    private func write(_ output: Output, _ key: String, _ value: [UInt8]?) throws(KafkaError) {
        try transaction.write(ProducerRecord(key: Array(key.utf8), value: value), to: output.rawValue)
    }

    /// Of several commands one is found by deciding each alone; what follows from that one is not written, and it is refused.
    mutating func refused(_ refusal: Remedy.Refusal) throws(PipelineError) {
        guard blame() else { throw .refused(refusal) }
    }

    /// What is written again is not to blame for a time in which nothing was.
    mutating func outlasted() {
        if restoring.isEmpty { _ = blame() }
    }

    /// - Returns: false where the command that is to blame was refused already.
    private mutating func blame() -> Bool {
        if let only = restoring.first {
            if open.commands == 0, restoring.count == 1 {
                own.giveUp(only)
                let place = TopicPartition(
                    topic: context.configuration.topics.subscriptions, partition: only.theirs.partition)
                logger.error(
                    "what was subscribed meanwhile for a device that was dead cannot be written again",
                    ["record": "\(place)/\(only.theirs.offset)"])
            }
            mostRestored = max(1, restoring.count / 2)
            return true
        }
        aloneBelow = max(aloneBelow, next)
        guard open.commands == 1, let command = open.last else { return true }
        return unwritable.insert(command).inserted
    }

    mutating func reached(_ offset: Int64, of partition: TopicPartition) { next = max(next, offset) }

    /// At once: who has sent a command waits for its verdict.
    func mustCommit(isOpen: Bool) -> Bool { isOpen && hasWritten }

    private var hasWritten: Bool { next > committedNext || !restoring.isEmpty }

    mutating func finish(_ time: TransactionTime) throws -> [TopicPartition: CommittedOffset]? {
        guard hasWritten else { return nil }
        return [partition: CommittedOffset(offset: Offset(next))]
    }

    mutating func committed() {
        committedNext = next
        lastCommit = context.now
        unwritable = unwritable.filter { $0 >= next }
        fold?.table.commit()
        for entry in restoring { own.restored(entry) }
        if !restoring.isEmpty {
            mostRestored = mostRestored > Int.max / 2 ? .max : mostRestored * 2
            logger.info("subscriptions of dead devices had changed meanwhile", ["written again": "\(restoring.count)"])
        }
        restoring = []
        for (command, keys, evidence) in open.subscriptionKeys {
            own.committed(keys, for: command) { [fold] in Self.mark(evidence, $0, fold) }
        }
        context.meter.committed(open)
        open = OpenDecisions()
    }

    /// What a record is committed with that removes a dead device's subscription.
    private static func mark(_ evidence: WallTime?, _ key: SubscriptionKey, _ fold: RegistrarFold?) -> BurialMark? {
        guard let evidence, let fold else { return nil }
        return BurialMark(evidence: evidence, known: fold.position(of: key))
    }

    mutating func aborted() {
        next = committedNext
        fold?.table.abort()
        open = OpenDecisions()
        restoring = []
        context.meter.aborted()
    }

    // MARK: Beside transactions

    /// What the registrar knows begins with what it reads: nothing of its own is under way.
    mutating func begin(_ fold: RegistrarFold, at offset: Int64) {
        self.fold = fold
        (next, committedNext) = (offset, offset)
        own = OwnWrites()
        open = OpenDecisions()
    }

    /// The table has everything up to the ends: what comes afterwards is read, and once more what is doubtful before.
    mutating func begin(reading fold: RegistrarFold) {
        for (key, doubt) in fold.takeDoubts() { own.note(doubt, of: key) }
        fold.needed = own.needed
        context.feed.start(at: fold.subscriptionPositions(from: starts))
    }

    /// A damaged table is filled again; one that cannot be written is waited for.
    func consider(_ error: any Error) throws(PipelineError) -> Bool {
        switch (error as? StoreError)?.recovery {
        case .stop: throw .defect("the registrar's table cannot be used: \(error)")
        case .wipe:
            logger.error("\(error): it is filled again")
            context.mustWipe.store(true, ordering: .sequentiallyConsistent)
        case .retry, nil: if context.patience.isDue("store") { logger.error("\(error); tried again") }
        }
        return true
    }

    /// Commands that were deleted before they were decided are lost: the oldest one that is left comes next.
    func overtaken(_ error: KafkaError) -> PipelineError? { nil }

    func clockRecord() -> (record: ProducerRecord, output: Int) {
        (ProducerRecord(key: nil, value: nil, partition: 0), Output.verdicts.rawValue)
    }

    func report(_ worker: WorkerState, lag: [TopicPartition: Int]?) {
        var reading = RegistrarBoard.Reading(isActive: fold != nil)
        reading.isReading = worker == .reading
        reading.lag = fold == nil ? nil : lag?[partition]
        context.board.set(reading)
    }
}

/// What an open transaction has decided.
struct OpenDecisions {
    private(set) var commands = 0
    /// The offset of the last one.
    private(set) var last: Int64?
    private(set) var records = 0
    private(set) var devices = 0
    private(set) var people = 0
    private(set) var verdicts: [String: Int] = [:]
    /// By command, the keys of its records.
    private(set) var subscriptionKeys: [(command: Int64, keys: [SubscriptionKey], evidence: WallTime?)] = []

    var subscriptions: [SubscriptionKey] { subscriptionKeys.flatMap(\.keys) }

    mutating func note(_ decision: Decision, for command: Int64) {
        commands += 1
        last = command
        verdicts[decision.verdict.word, default: 0] += 1
        devices += decision.devices.count
        people += decision.people.count
        records +=
            1 + decision.devices.count + decision.people.count + decision.subscriptions.count
            + decision.withdrawals.count
        guard !decision.subscriptions.isEmpty else { return }
        subscriptionKeys.append((command, decision.subscriptions.map(\.key), decision.evidence))
    }
}

extension ProducerRecord {
    /// - Parameter command: the offset of the command.
    fileprivate init(_ change: SubscriptionChange, for command: Int64, _ mark: BurialMark?) {
        var headers = Self.headers(command, mark)
        if let since = change.since {
            headers.append(RecordHeader(SubscriptionRecord.sinceHeader, Array("\(since.milliseconds)".utf8)))
        }
        self.init(key: Array(change.key.text.utf8), value: change.put?.value, headers: headers)
    }

    /// What somebody else has written, with its time: a later one would protect it from evidence that has come meanwhile.
    fileprivate init(_ entry: OwnWrites.Overwritten) {
        let theirs = entry.theirs
        var headers = Self.headers(entry.by.command, entry.mark)
        if let since = theirs.since { headers.append(RecordHeader(SubscriptionRecord.sinceHeader, since)) }
        self.init(
            key: Array(theirs.key.text.utf8), value: theirs.entry == nil ? nil : theirs.value, headers: headers,
            partition: theirs.partition, timestamp: theirs.time)
    }

    private static func headers(_ command: Int64, _ mark: BurialMark?) -> [RecordHeader] {
        [RecordHeader(SubscriptionRecord.commandHeader, Array("\(command)".utf8))]
            + (mark.map { [RecordHeader(BurialMark.header, Array($0.text.utf8))] } ?? [])
    }
}
