import Foundation
import Hosting
import KafkaClient
import Pipeline
import StateStore
import Streaming

/// One thread that sends broadcasts to the devices of its partitions.
///
///     slices of passes ─► records of the subscriptions ─► what joiners have missed ─► journal and offsets
///
/// in one Kafka transaction, and then again. ``BroadcastCore`` decides; the worker does what the group says in
/// `BroadcastWorker+Assignment` and `+Locating`, and ends transactions in `+Transactions`.
struct BroadcastWorker: ~Copyable, GroupWorker {
    enum Phase {
        case unassigned
        /// The committed offsets are asked for, and the tables brought up to them.
        case locating([Int32], since: ContinuousClock.Instant)
        case reading
    }

    /// What passes and joiners get must have been true so short a time before.
    static let freshness = Duration.seconds(1)
    /// Offsets are committed again after this time, so that their age shows that somebody works on the partition.
    static let commitAgain: Int64 = 3_600_000
    private static let batchSize = 1_000
    /// Another process's view may be newer, by a moment.
    private static let longestBehind = Duration.seconds(30)

    let number: Int
    let slot: String
    let context: BroadcastContext
    let logger: Logger
    let deadLetters: DeadLetterLog
    let origin: BroadcastJournalEntry
    var consumer: Consumer
    var output: BroadcastOutput
    var core: BroadcastCore
    var group: GroupMetadata?
    var phase = Phase.unassigned
    /// How often the group has assigned partitions.
    var assignments = 0
    /// Records of its partitions that are not read yet; nothing before the first measurement.
    var lag: [Int32: Int] = [:]
    /// Notices a consumer that gets nothing.
    var watch = ConsumerWatch()
    var clock = ClockCheck()
    /// A refusal at the start: librdkafka reports some of them once and retries without another report.
    var refusal: KafkaError?
    var batch = RecordBatch(readsHeaders: false)
    /// The first record of the batch that was not taken.
    var next = 0
    /// The clock of the open transaction, and when it began; nil: nothing is open.
    var opened: (clock: WallTime, at: ContinuousClock.Instant)?
    var backoff = Backoff()
    var fencings = Fencings()
    /// Nothing is sent before; after an error.
    var nextAttempt = ContinuousClock.now
    /// Since when the log of broadcasts ends before what the group has seen of it.
    private var behindSince: ContinuousClock.Instant?
    var nextFlush = ContinuousClock.now + .seconds(10)

    /// Waits for the broker as long as it takes.
    init(_ number: Int, _ context: BroadcastContext, logger: Logger) throws {
        let configuration = context.configuration
        let slot = "\(configuration.instanceID)-\(number)"
        let topics = configuration.topics
        let output = try context.host.untilItWorks(logger) { () throws(KafkaError) in
            try BroadcastOutput(context, slot: slot, number: number, logger: logger.clientSink)
        }
        let consumer = try Self.makeConsumer(context, logger)
        self.output = output
        self.consumer = consumer
        core = BroadcastCore(
            BroadcastSettings(
                topic: topics.broadcasts, subscriptionsTopic: topics.subscriptions,
                rendering: configuration.rendering, maxAge: configuration.subscriptionsMaxAge.wholeMilliseconds,
                mostLate: configuration.broadcasts.mostLate, mostRecords: configuration.commitMaxRecords))
        origin = BroadcastJournalEntry(
            group: context.group, cluster: context.log.cluster, dispatch: topics.broadcastDispatch,
            rules: configuration.rulesHash)
        self.number = number
        self.slot = slot
        self.context = context
        self.logger = logger
        deadLetters = DeadLetterLog(context.patience, topic: topics.deadLetters)
    }

    /// Works until the service drains or stops.
    ///
    /// - Throws: ``PipelineError`` where a person has to act.
    mutating func run() throws {
        while !context.mustStop {
            do {
                if try round() { return }
            } catch let error as KafkaError {
                try recover(from: error)
            } catch let error as StoreError {
                try recover(from: error)
            }
        }
    }

    /// One round.
    ///
    /// - Returns: whether the worker has ended.
    private mutating func round() throws -> Bool {
        try serveControl()
        if let refusal { try considerErrors([refusal]) }
        if context.mustEnd {
            if opened != nil { try commit() }
            try release()
            return true
        }
        report()
        switch phase {
        case .unassigned: wait()
        case .locating(let partitions, let since):
            if try isClockRight() { try locate(partitions, since: since) } else { wait() }
        case .reading:
            if try isClockRight() { try work() } else { wait() }
        }
        return false
    }

    /// In what is told of the process.
    var label: String { "worker \(slot)" }

    /// There is nothing to do before the group, the broker or the clock has moved.
    func wait() { Thread.sleep(forTimeInterval: 0.02) }

    /// Whether the clock may say what is over. What is open is committed before the broker is asked.
    private mutating func isClockRight() throws -> Bool {
        if clock.isRight(context.host) { return true }
        if opened != nil { try commit() }
        if clock.isLookDue(context.host) {
            clock.compare(try output.brokerTime(by: try origin.json()), context.host, of: label, logger)
        }
        return clock.isRight(context.host)
    }

    private mutating func work() throws {
        guard .now >= nextAttempt else { return wait() }
        let view = context.follower.view
        let isFresh = view.isFresh(within: Self.freshness)
        var mayTake = isFresh
        if opened == nil, isFresh {
            try replaceRepeatingOutput()
            try update(view)
            mayTake = try lookAhead()
            try sendPasses()
        }
        if mayTake { try read() }
        if isDue { try commit() }
        try keepTables()
        guard isFresh else { return wait() }
        if next == batch.count { try fill(timeout: patienceForRecords) }
    }

    private mutating func fill(timeout: Duration) throws {
        batch.removeAll()
        next = 0
        consumer.fill(&batch, limit: Self.batchSize, timeout: timeout)
        context.meter.metrics.countUnreadable(batch.unreadable)
        try considerErrors(batch.errors)
        try watchConsumer()
    }

    /// Checks a consumer that has been quiet for a long time (docs/kafka.md 11).
    mutating func watchConsumer() throws(KafkaError) {
        guard batch.isEmpty, batch.endsOfPartition.isEmpty else {
            refusal = nil
            return watch.progressed(hasRecords: !batch.isEmpty)
        }
        guard watch.isCheckDue() else { return }
        let topic = context.configuration.topics.subscriptions
        let owned = core.owned.map { TopicPartition(topic: topic, partition: $0) }
        guard let ends = try? consumer.endOffsets(owned, timeout: .seconds(2)) else { return watch.progressed() }
        if watch.isStuck(ends: ends.mapValues(\.value), reached: { core.position($0.partition) ?? .max }) {
            throw .stuckConsumer
        }
    }

    /// How long nothing else is to be done.
    private var patienceForRecords: Duration {
        let idle: Duration = isBusy ? .milliseconds(2) : IdleWait.looking
        guard let opened else { return idle }
        return max(.zero, min(idle, opened.at + context.configuration.commitInterval - .now))
    }

    private mutating func update(_ view: BroadcastView) throws(PipelineError) {
        if view.reached != core.reached || view.records.count != core.count {
            core.update(view.records, reached: view.reached)
        }
        guard core.isBehind else {
            behindSince = nil
            return
        }
        let since = behindSince ?? .now
        behindSince = since
        guard .now - since < Self.longestBehind else {
            let topic = context.configuration.topics.broadcasts
            throw .decisionNeeded(
                "\(topic) ends at offset \(view.reached), and the group \(context.group) has seen later ones: it was created "
                    + "again; end every process of the group, remove its offsets, and start it again")
        }
    }

    /// Whether there is something to send.
    private var isBusy: Bool { core.owned.contains { core.isBusy($0) } }

    // MARK: A transaction

    /// Slices of passes, before anything else is done in the transaction.
    private mutating func sendPasses() throws {
        var budget = min(context.configuration.commitMaxRecords, context.budget)
        for partition in core.owned where budget > 0 && core.isBusy(partition) {
            guard let position = core.position(partition),
                context.ends.isReached(partition, at: position, within: Self.freshness)
            else { continue }
            let before = core.open.sent
            try core.send(partition, clock: open(), budget: &budget, into: &output)
            context.take(core.open.sent - before)
        }
        if !core.open.hasWork { opened = nil }
        if opened != nil { try context.reach(.afterProduce, worker: number) }
    }

    /// Opens a transaction unless one is open.
    ///
    /// - Returns: its clock.
    private mutating func open() -> WallTime {
        if let opened { return opened.clock }
        let clock = context.clock.now()
        opened = (clock, .now)
        return clock
    }

    /// Takes what was read, as far as the transaction has room.
    private mutating func read() throws {
        let configuration = context.configuration
        while context.budget > 0, core.hasRoom, core.open.taken < configuration.commitMaxEvents {
            if next == batch.count {
                takeEnds()
                try fill(timeout: .zero)
                guard !batch.isEmpty || !batch.endsOfPartition.isEmpty else { return }
            }
            let planned = core.open.planned
            while next < batch.count, core.hasRoom {
                let record = SubscriptionRecord(of: batch, at: next, partitions: Int(context.log.partitions))
                let timestamp = batch[next].timestamp
                next += 1
                try core.take(record, timestamp: timestamp, clock: open())
            }
            context.take(core.open.planned - planned)
        }
    }

    /// The ends of partitions count once every record before them was taken.
    private mutating func takeEnds() {
        for end in batch.endsOfPartition where end.offset.value > core.position(end.partition.partition) ?? .max {
            _ = open()
            core.reached(end.offset.value, of: end.partition.partition)
        }
    }

    /// Whether the open transaction is to be committed now, or offsets are to be committed again.
    private var isDue: Bool {
        guard let opened else {
            let oldest = context.clock.now() - Self.commitAgain
            return core.owned.contains { (core.committed($0)?.time ?? oldest) < oldest }
        }
        return core.open.hasWork || !core.hasRoom || core.open.taken >= context.configuration.commitMaxEvents
            || .now - opened.at >= context.configuration.commitInterval
    }

    private func report() {
        var state = BroadcastBoard.Worker(partitions: core.owned.count)
        if case .reading = phase { state.isReading = true }
        state.passes = core.owned.count { core.committed($0)?.pass != nil }
        state.oldestWaiting = core.oldestWaiting
        state.lag = lag
        state.isFresh = context.follower.view.isFresh(within: .seconds(10))
        context.board.set(state, of: number)
        context.host.health.consumerIsHopeless(watch.isHopeless, of: label)
    }

    /// Leaves the group.
    consuming func close() {
        // After an error; otherwise it has released them.
        for number in core.owned { try? core.remove(number)?.close() }
        batch.removeAll()
        consumer.close()
    }
}
