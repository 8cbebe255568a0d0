import Events
import FanOut
import Foundation
import KafkaClient
import Subscriptions
import Telemetry

/// Keeps the subscriptions table at the end of its topic: one thread, one reader of every partition.
///
/// ``run()`` is the thread's loop; `TableFollower+Rebuild` reads the table again from the topic's beginning,
/// `TableFollower+Watching` watches the consumer and open transactions.
struct TableFollower: ~Copyable {
    let table: SubscriptionTable
    let topic: SubscriptionTopic
    let context: WorkerContext
    let logger: Logger
    var consumer: Consumer
    var records = RecordBatch(readsHeaders: false)
    /// What was read and is not applied yet.
    var waiting = WaitingChanges()
    /// The table's position once ``waiting`` is applied.
    var position: TablePosition
    var freshness: TableFreshness
    /// The ends that the latest query returned, and the barrier that reaching them passes.
    var ends: [Int64]?
    private var barrier = 0
    /// Why the table must be rebuilt; fan-out pauses until that is done.
    var rebuildReason: String?
    /// The wait after the disk or the broker refused something.
    var backoff = Backoff()
    var retriesAt: ContinuousClock.Instant?
    /// A refusal at the start: librdkafka reports it once and retries without another report.
    var refusal: KafkaError?
    var watch: ConsumerWatch
    var hungTransactions = HungTransactionWatch()
    private var publishedLag: Int64?
    private var wasLagging = false
    private var appliedAt = ContinuousClock.now

    static let batchLimit = 5_000

    /// - Parameters:
    ///   - topic: as it was found before the table was opened.
    ///   - watch: the watch over its consumer.
    init(
        table: SubscriptionTable, topic: SubscriptionTopic, context: WorkerContext, logger: Logger,
        watch: ConsumerWatch = ConsumerWatch()
    ) throws {
        position = table.position
        consumer = try Self.makeConsumer(topic.name, at: position.offsets, context, logger)
        // The clock may have been set back since the time was stored: a time ahead of it counts as now.
        let age = Duration.milliseconds(max(0, context.clock.now() - position.time.milliseconds))
        freshness = TableFreshness(
            maxLag: context.configuration.subscriptionsMaxLag, largestAge: topic.largestAge, asOf: .now - age)
        self.table = table
        self.topic = topic
        self.context = context
        self.logger = logger
        self.watch = watch
    }

    static func makeConsumer(
        _ topic: String, at offsets: [Int64], _ context: WorkerContext, _ logger: Logger
    ) throws -> Consumer {
        var settings = context.configuration.kafka
        settings["auto.offset.reset"] = "error"
        var consumer = try Consumer(assigning: settings, logger: logger.clientSink)
        var positions: [TopicPartition: Offset] = [:]
        for (partition, offset) in offsets.enumerated() {
            positions[TopicPartition(topic: topic, partition: Int32(partition))] = Offset(offset)
        }
        try consumer.assign(positions)
        return consumer
    }

    var partitions: [TopicPartition] {
        position.offsets.indices.map { TopicPartition(topic: topic.name, partition: Int32($0)) }
    }

    /// Follows the topic until the pipeline ends.
    ///
    /// - Throws: ``PipelineError`` where the table cannot be kept.
    mutating func run() throws {
        while !context.mustEnd { try round() }
    }

    /// One round of the loop; takes about 20 ms where there is nothing to do.
    mutating func round() throws {
        if freshness.isTooOld() { mustRebuild(topic.isTooOld(freshness.age())) }
        if rebuildReason != nil { return try rebuild() }
        try askForEnds()
        try follow()
        try updateGate()
    }

    /// Queries the topic's ends when a worker waits for them, and as often as freshness needs.
    private mutating func askForEnds() throws {
        let isAwaited = context.gate.isAwaited && barrier < context.gate.newestRequest
        guard isAwaited || freshness.isQueryDue() else { return }
        let request = context.gate.newestRequest
        let began = ContinuousClock.now
        do {
            ends = try ask(for: { consumer, partitions throws(KafkaError) in
                try consumer.endOffsets(partitions, timeout: .seconds(2))
            })
            barrier = request
            freshness.asked(at: began, isAnswered: true)
            context.board.followerUnanswered(nil)
            watchTransactions()
        } catch {
            freshness.asked(at: began, isAnswered: false)
            try unanswered(error, "the subscriptions' ends are not known")
        }
    }

    /// Queries offsets of all partitions.
    ///
    /// - Throws: ``PipelineError/decisionNeeded(_:)`` where the partition count has changed since the table was opened;
    ///   the query's `KafkaError`.
    func ask(
        for offsets: (borrowing Consumer, [TopicPartition]) throws(KafkaError) -> [TopicPartition: Offset]
    ) throws -> [Int64] {
        let count = try consumer.partitionCount(of: topic.name, timeout: .seconds(2))
        guard count == partitions.count else {
            throw PipelineError.decisionNeeded(topic.keysHaveMoved(from: partitions.count, to: count))
        }
        let found = try offsets(consumer, partitions)
        return partitions.map { found[$0]?.value ?? 0 }
    }

    /// Handles the error of a query to the broker.
    func unanswered(_ error: any Error, _ what: String) throws {
        guard let error = error as? KafkaError else { throw error }
        context.board.followerUnanswered("\(error)")
        if let line = try context.consider(error) { logger.warning("\(what): \(line)") }
    }

    private mutating func follow() throws {
        records.removeAll()
        // While the disk takes nothing, what is read stays in memory, up to this limit.
        if !waiting.isFull {
            consumer.fill(&records, limit: Self.batchLimit, maxBytes: 8 << 20, timeout: .milliseconds(20))
        }
        try serveControl(timeout: waiting.isFull ? .milliseconds(20) : .zero)
        if !records.isEmpty || !records.endsOfPartition.isEmpty { refusal = nil }
        for error in records.errors { try consider(error) }
        if let refusal { try consider(refusal) }
        for index in 0..<records.count { take(records[index]) }
        if !records.isEmpty, !isAtEnd { try context.reach(.inCatchUp) }
        for end in records.endsOfPartition {
            let partition = Int(end.partition.partition)
            guard end.offset.value > position.offsets[partition] else { continue }
            position.offsets[partition] = end.offset.value
            waiting.isDirty = true
        }
        try watchConsumer()
        noteEnd()
        if waiting.isDue(isQuiet: records.count < Self.batchLimit) { try apply() }
    }

    private mutating func take(_ record: RecordView) {
        let partition = Int(record.partition)
        guard record.offset >= position.offsets[partition] else { return }
        waiting.append(
            SubscriptionRecord(
                partition: record.partition, offset: record.offset, key: record.key, value: record.value))
        position.offsets[partition] = record.offset + 1
        position.records[partition].append(RecordFingerprint(record))
    }

    private var isAtEnd: Bool { ends.map { zip($0, position.offsets).allSatisfy { $0 <= $1 } } ?? false }

    /// A table that has reached the end once is complete; it is stored before any worker may fan out from it.
    private mutating func noteEnd() {
        guard isAtEnd, freshness.reachedEnd(), !position.isWhole else { return }
        position.isWhole = true
        waiting.isDirty = true
    }

    /// Applies what was read. While the disk is full it keeps the changes and retries; the workers' gate closes meanwhile.
    private mutating func apply() throws {
        if let retriesAt, .now < retriesAt { return }
        try context.reach(.beforeTableCommit)
        position.time = EventTime(milliseconds: context.clock.now(freshness.asOf))
        do {
            let change = try table.apply(&waiting.changes, position)
            waiting.isDirty = false
            appliedAt = .now
            storeAccepted()
            report(change)
        } catch {
            return try storeRefused(error)
        }
        try context.reach(.afterTableCommit)
    }

    /// The store took the changes.
    mutating func storeAccepted() {
        retriesAt = nil
        backoff.reset()
    }

    /// The store did not take the changes. Where there is no space, the write is retried later.
    mutating func storeRefused(_ error: SubscriptionTableError) throws {
        guard error.recovery == .retry else {
            throw PipelineError.defect("the subscriptions table cannot be written: \(error)")
        }
        if context.patience.isDue("table") { logger.error("the subscriptions table cannot be written: \(error)") }
        retriesAt = .now + backoff.next()
    }

    private func report(_ change: SubscriptionTableChange) {
        guard change.malformed > 0 else { return }
        context.meter.count { $0.malformedSubscriptions += change.malformed }
        for example in change.examples {
            logger.warning(
                "a malformed subscription is skipped: \(example.problems.joined(separator: "; "))",
                [
                    "partition": "\(topic.name)/\(example.partition)", "offset": "\(example.offset)",
                    "key_sha256": example.keyHash,
                ])
        }
    }

    /// Opens the gate for the workers that wait for the queried ends. It closes by itself when the table lags for too long.
    private mutating func updateGate() throws {
        guard let ends, rebuildReason == nil else { return }
        let lag = zip(ends, position.offsets).reduce(0) { $0 + max(0, $1.0 - $1.1) } + Int64(waiting.changes.count)
        if lag != publishedLag {
            publishedLag = lag
            context.meter.setTableLag(Int(lag))
        }
        if lag == 0, !waiting.isDirty, position.isWhole {
            context.gate.setStale(from: freshness.staleFrom)
            context.gate.pass(barrier)
            // Stores the time, so that the table of an idle topic is fresh at the next start.
            if .now - appliedAt > min(.seconds(60), topic.largestAge / 4) { try apply() }
        }
        noteGate()
    }

    /// Withdraws the lag until the ends are queried again.
    mutating func forgetLag() {
        publishedLag = nil
        context.meter.setTableLag(nil)
    }

    /// Logs when the gate closes and opens.
    mutating func noteGate() {
        let isLagging = context.gate.isLagging()
        guard isLagging != wasLagging else { return }
        wasLagging = isLagging
        logger.notice(
            isLagging
                ? "fan-out pauses: the subscriptions table has been behind its topic for too long"
                : "fan-out continues: the subscriptions table is at its topic's end",
            ["lag": publishedLag.map { "\($0)" } ?? "unknown"])
    }
}
