import Foundation
import KafkaClient
import Streaming

/// Keeps the subscriptions table at the end of its topic: one thread, one reader of every partition.
///
/// ``run()`` is the thread's loop; `TableFollower+Storing` stores what was read, `TableFollower+Rebuild` reads the table
/// again from the topic's beginning, `TableFollower+Watching` watches the consumer and open transactions.
struct TableFollower: ~Copyable {
    let table: SubscriptionTable
    let topic: SubscriptionTopic
    let context: WorkerContext
    let logger: Logger
    var consumer: any ReadingClient & ~Copyable
    var records = RecordBatch(readsHeaders: false)
    /// What was read and is not stored yet.
    var waiting: WaitingChanges
    /// The table's position once ``waiting`` is stored.
    var position: TablePosition
    var freshness: TableFreshness
    /// The ends that the latest query returned, and the barrier that reaching them passes.
    var ends: [Int64]?
    private var barrier = 0
    /// See ``askForWrites()``.
    var writes: Writes?
    var uncommitted: (any ReadingClient & ~Copyable)?
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
    var storedAt: ContinuousClock.Instant
    private var growth = MemoryGrowth()
    /// The state folder has a note of the growth.
    private var hasNotedGrowth = false
    /// See ``PartitionHolds``.
    var read: FollowedPartitions

    static let batchLimit = 5_000

    /// - Parameters:
    ///   - topic: as it was found before the table was opened.
    ///   - waiting: where to keep what is read; nil: below the state folder.
    ///   - watch: the watch over its consumer; nil: the usual one.
    init(
        table: SubscriptionTable, topic: SubscriptionTopic, context: WorkerContext, logger: Logger,
        waiting: consuming WaitingChanges? = nil, watch: ConsumerWatch? = nil
    ) throws {
        self.waiting = waiting ?? WaitingChanges(in: context.configuration.stateDirectory)
        position = table.position
        let read = Self.readable(topic, at: table.position.offsets, context, logger)
        self.read = read
        consumer = try Self.makeConsumer(read, of: topic.name, context, logger)
        // The clock may have been set back since the time was stored: a time ahead of it counts as now.
        let age = Duration.milliseconds(max(0, context.clock.now() - position.time))
        freshness = TableFreshness(
            maxLag: context.configuration.subscriptionsMaxLag, largestAge: topic.largestAge, asOf: context.now - age)
        storedAt = context.now
        self.table = table
        self.topic = topic
        self.context = context
        self.logger = logger
        self.watch = watch ?? ConsumerWatch(now: context.now)
        context.meter.setUnreadableSubscriptions(position.unreadable)
        if !position.unreadable.isEmpty {
            let partitions = position.unreadable.map { "\(topic.name)/\($0)" }.joined(separator: ", ")
            logger.error("the subscriptions table may lack a change: a batch could not be read in \(partitions)")
        }
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

    /// One round of the loop; takes about 50 ms where there is nothing to do.
    mutating func round() throws {
        if freshness.isTooOld(now: context.now) { mustRebuild(topic.isTooOld(freshness.age(now: context.now))) }
        if rebuildReason != nil { return try rebuild() }
        try considerHolds()
        try askForEnds()
        try askForWrites()
        try follow()
        try updateGate()
    }

    /// Queries the topic's ends when a worker waits for them, and as often as freshness needs.
    private mutating func askForEnds() throws {
        let isAwaited = context.gate.isAwaited && barrier < context.gate.newestRequest
        guard isAwaited || freshness.isQueryDue(now: context.now) else { return }
        let request = context.gate.newestRequest
        let began = context.now
        do {
            ends = try ask(for: { consumer, partitions throws(KafkaError) in
                try consumer.endOffsets(partitions, timeout: .seconds(2))
            })
            barrier = request
            freshness.asked(at: began, isAnswered: true)
            context.host.health.topicAnswers()
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
    mutating func ask(
        for offsets: (inout any ReadingClient & ~Copyable, [TopicPartition]) throws(KafkaError) -> [TopicPartition:
            Offset]
    ) throws -> [Int64] {
        let partitions = partitions
        let count = try consumer.partitionCount(of: topic.name, timeout: .seconds(2))
        guard count == partitions.count else {
            throw PipelineError.decisionNeeded(topic.keysHaveMoved(from: partitions.count, to: count))
        }
        let found = try offsets(&consumer, partitions)
        return partitions.map { found[$0]?.value ?? 0 }
    }

    /// Handles the error of a query to the broker.
    func unanswered(_ error: any Error, _ what: String) throws {
        guard let error = error as? KafkaError else { throw error }
        context.host.health.brokersAreDown("\(error)", of: Self.name)
        if let line = try context.host.consider(error) { logger.warning("\(what): \(line)") }
    }

    private mutating func follow() throws {
        records.removeAll()
        let mayRead = !mustStore
        if mayRead { fill() }
        notePassed()
        // While the disk takes nothing, there is nothing else to wait for.
        try serveControl(timeout: retriesAt == nil ? .zero : .milliseconds(20))
        if !records.isEmpty || !records.endsOfPartition.isEmpty { refusal = nil }
        for error in records.errors { try consider(error) }
        if let refusal { try consider(refusal) }
        let before = position.offsets
        for index in 0..<records.count { take(index) }
        noteFingerprints(from: before)
        if !records.isEmpty, !isAtEnd { try context.reach(.inCatchUp) }
        for end in records.endsOfPartition {
            let partition = Int(end.partition.partition)
            guard end.offset.value > position.offsets[partition] else { continue }
            position.offsets[partition] = end.offset.value
            waiting.isDirty = true
        }
        try watchConsumer()
        noteEnd()
        try storeIfDue(isQuiet: records.count < Self.batchLimit)
    }

    private mutating func fill() {
        noteGrowth()
        growth.waits(at: ProcessMemory.anonymous())
        let isBusy = isFilling || waiting.isDirty || context.gate.isAwaited || context.gate.writes.isAwaited
        let idle = isBusy ? .milliseconds(20) : IdleWait.looking
        consumer.fill(&records, from: 0, limit: Self.batchLimit, maxBytes: 8 << 20, timeout: idle)
        growth.ended(at: ProcessMemory.anonymous(), received: records.byteCount)
    }

    /// Notes that the process has taken more memory while the follower only waited, before it waits again.
    private mutating func noteGrowth() {
        if growth.isEvident {
            context.holds.grew(.follower, offsetsRead)
        } else if hasNotedGrowth {
            context.holds.arrived(.follower)
        }
        hasNotedGrowth = growth.isEvident
    }

    /// Remembers the partitions in which a change may have been lost, until the table is read from the beginning again.
    private mutating func notePassed() {
        context.meter.passed(records.unreadable)
        for batch in records.unreadable {
            let partition = batch.partition.partition
            guard batch.offsets.upperBound >= position.offsets[Int(partition)],
                !position.unreadable.contains(partition)
            else { continue }
            position.unreadable = (position.unreadable + [partition]).sorted()
            waiting.isDirty = true
        }
        if !records.unreadable.isEmpty { context.meter.setUnreadableSubscriptions(position.unreadable) }
    }

    private mutating func take(_ index: Int) {
        let record = SubscriptionRecord(of: records, at: index, partitions: position.offsets.count)
        let partition = Int(record.partition)
        guard record.offset >= position.offsets[partition] else { return }
        waiting.append(record)
        position.offsets[partition] = record.offset + 1
    }

    /// Remembers the last records of each partition in the batch, so that not every key of the topic is hashed.
    ///
    /// - Parameter offsets: the position before the batch.
    private mutating func noteFingerprints(from offsets: [Int64]) {
        var left = offsets.map { _ in RecentFingerprints.limit }
        var last: [Int] = []
        for index in (0..<records.count).reversed() {
            let record = records[index]
            let partition = Int(record.partition)
            guard left[partition] > 0, record.offset >= offsets[partition],
                RecentFingerprints.remembers(record.value)
            else { continue }
            left[partition] -= 1
            last.append(index)
        }
        for index in last.reversed() {
            let record = records[index]
            position.records[Int(record.partition)].append(RecordFingerprint(record))
        }
    }

    private var isAtEnd: Bool { ends.map { hasReached($0) } ?? false }

    /// A partition that is held is left as it is.
    func hasReached(_ ends: [Int64]) -> Bool {
        partitions.enumerated().allSatisfy { index, partition in
            ends[index] <= position.offsets[index] || isHeld(partition)
        }
    }

    /// A table that has reached the end once is complete; it is stored before any worker may fan out from it.
    private mutating func noteEnd() {
        guard isAtEnd, freshness.reachedEnd(now: context.now), !position.isWhole else { return }
        position.isWhole = true
        waiting.isDirty = true
    }

    /// Opens the gate for the workers that wait for the queried ends. It closes by itself when the table lags for too long.
    private mutating func updateGate() throws {
        guard let ends, rebuildReason == nil else { return }
        let lag = zip(ends, position.offsets).reduce(0) { $0 + max(0, $1.0 - $1.1) } + Int64(waiting.count)
        if lag != publishedLag {
            publishedLag = lag
            context.meter.setTableLag(Int(lag))
        }
        let isStored = waiting.count == 0 && !waiting.isDirty && position.isWhole
        if isStored { noteWrites() }
        if isAtEnd, isStored {
            context.gate.setStale(from: freshness.staleFrom)
            context.gate.pass(barrier)
            // Stores the time, so that the table of an idle topic is fresh at the next start.
            if context.now - storedAt > min(.seconds(60), topic.largestAge / 4) { try store() }
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
        let isLagging = context.gate.isLagging(now: context.now)
        guard isLagging != wasLagging else { return }
        wasLagging = isLagging
        logger.notice(
            isLagging
                ? "fan-out pauses: the subscriptions table has been behind its topic for too long"
                : "fan-out continues: the subscriptions table is at its topic's end",
            ["lag": publishedLag.map { "\($0)" } ?? "unknown"])
    }
}
