import Events
import FanOut
import Foundation
import KafkaClient
import Subscriptions
import Telemetry

/// Keeps the subscriptions table at the end of its topic: one thread, one reader of every partition.
///
/// `run()` is the whole life; how the table is read again is in `TableFollower+Rebuild`, what is watched in
/// `TableFollower+Watching`.
struct TableFollower: ~Copyable {
    let table: SubscriptionTable
    let topic: SubscriptionTopic
    let context: WorkerContext
    let logger: Logger
    var consumer: Consumer
    var records = RecordBatch(readsHeaders: false)
    /// What was read and is not applied yet.
    var waiting = WaitingChanges()
    /// Where the table stands with what is waiting.
    var position: TablePosition
    var freshness: TableFreshness
    /// The ends that the latest query returned, and the barrier that it stands for.
    var ends: [Int64]?
    private var barrier = 0
    /// Why the table must be read again; nobody fans out until that is done.
    var rebuildReason: String?
    /// Of what the disk or the broker refused.
    var backoff = Backoff()
    var retriesAt: ContinuousClock.Instant?
    /// A refusal at the start: librdkafka reports it once and goes on about it in silence.
    var refusal: KafkaError?
    var watch: ConsumerWatch
    var hungTransactions = HungTransactionWatch()
    private var publishedLag: Int64?
    private var wasLagging = false
    private var appliedAt = ContinuousClock.now

    static let batchLimit = 5_000

    /// - Parameters:
    ///   - topic: as it was found before the table was opened.
    ///   - watch: of its consumer.
    init(
        table: SubscriptionTable, topic: SubscriptionTopic, context: WorkerContext, logger: Logger,
        watch: ConsumerWatch = ConsumerWatch()
    ) throws {
        position = table.position
        consumer = try Self.makeConsumer(topic.name, at: position.offsets, context, logger)
        // A stored time that is ahead of the clock, since the clock was set back, is no younger than now.
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

    /// One look at everything; takes about 20 ms where there is nothing to do.
    mutating func round() throws {
        if freshness.isTooOld() { mustRebuild(topic.isTooOld(freshness.age())) }
        if rebuildReason != nil { return try rebuild() }
        try askForEnds()
        try follow()
        try judge()
    }

    /// Asks for the topic's ends when somebody waits for them, and as often as freshness needs.
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

    /// Asks for offsets of all partitions, and whether there are as many as when the table was opened.
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

    /// Takes what a question to the broker failed with.
    func unanswered(_ error: any Error, _ what: String) throws {
        guard let error = error as? KafkaError else { throw error }
        context.board.followerUnanswered("\(error)")
        if let line = try context.consider(error) { logger.warning("\(what): \(line)") }
    }

    private mutating func follow() throws {
        records.removeAll()
        // While the disk takes nothing, what is read stays in memory: no more of it than that.
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

    /// A table that has reached the end once is whole; it is stored before anybody may fan out from it.
    private mutating func noteEnd() {
        guard isAtEnd, freshness.reachedEnd(), !position.isWhole else { return }
        position.isWhole = true
        waiting.isDirty = true
    }

    /// Applies what was read. A full disk is waited for: the changes are kept, and the workers' gate closes meanwhile.
    private mutating func apply() throws {
        if let retriesAt, .now < retriesAt { return }
        try context.reach(.beforeTableCommit)
        position.time = EventTime(milliseconds: context.clock.now(freshness.asOf))
        do {
            let change = try table.apply(&waiting.changes, position)
            waiting.isDirty = false
            appliedAt = .now
            works()
            report(change)
        } catch {
            return try refused(error)
        }
        try context.reach(.afterTableCommit)
    }

    /// The store took it.
    mutating func works() {
        retriesAt = nil
        backoff.reset()
    }

    /// The store did not take it; where there is no room, it is asked again later.
    mutating func refused(_ error: SubscriptionTableError) throws {
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

    /// Opens the gate for whoever waits for the ends that were asked for; closes it when the table lags for too long.
    private mutating func judge() throws {
        guard let ends, rebuildReason == nil else { return }
        let lag = zip(ends, position.offsets).reduce(0) { $0 + max(0, $1.0 - $1.1) } + Int64(waiting.changes.count)
        if lag != publishedLag {
            publishedLag = lag
            context.meter.setTableLag(Int(lag))
        }
        if lag == 0, !waiting.isDirty, position.isWhole {
            context.gate.setStale(from: freshness.staleFrom)
            context.gate.pass(barrier)
            // So that a table whose topic is idle is young at the next start.
            if .now - appliedAt > min(.seconds(60), topic.largestAge / 4) { try apply() }
        }
        noteGate()
    }

    /// Until the ends are asked for again.
    mutating func forgetLag() {
        publishedLag = nil
        context.meter.setTableLag(nil)
    }

    /// Says when the gate closes and opens.
    mutating func noteGate() {
        let isLagging = context.gate.isLagging()
        guard isLagging != wasLagging else { return }
        wasLagging = isLagging
        logger.notice(
            isLagging
                ? "fan-out pauses: the subscriptions table has not stood at its topic's end for too long"
                : "fan-out goes on: the subscriptions table stands at its topic's end",
            ["lag": publishedLag.map { "\($0)" } ?? "unknown"])
    }
}
