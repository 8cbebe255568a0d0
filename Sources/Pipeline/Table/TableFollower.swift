import Extraction
import FanOut
import Foundation
import KafkaClient
import Telemetry

/// Keeps the subscriptions table at the end of its topic: one thread, one reader of every partition.
struct TableFollower: ~Copyable {
    private let table: SubscriptionTable
    private let context: WorkerContext
    private let logger: Logger
    private let topic: String
    private var consumer: Consumer
    private var records = RecordBatch(readsHeaders: false)
    /// What was read and is not applied yet, for a first load: larger transactions load faster.
    private var changes = SubscriptionChanges()
    private var isDirty = false
    /// The newest timestamp of the records that were read, in milliseconds since 1970.
    private var newestTimestamp: Int64 = 0
    private var backoff = Backoff()
    /// A refusal at the start: librdkafka reports it once and goes on about it in silence.
    private var refusal: KafkaError?
    /// The next offset to read, by partition.
    private var read: [Int64]
    /// The ends that the latest query returned, and the barrier that it stands for.
    private var ends: [Int64]?
    private var barrier = 0
    private var publishedLag: Int64 = -1
    private var freshness: TableFreshness
    private var wasLagging = false
    private var appliedAt = ContinuousClock.now

    private static let batchLimit = 5_000
    private static let applyLimit = 20_000

    init(table: SubscriptionTable, context: WorkerContext, logger: Logger) throws {
        let topic = context.configuration.topics.subscriptions
        let read = table.appliedOffsets
        var settings = context.configuration.kafka
        settings["auto.offset.reset"] = "error"
        var consumer = try Consumer(assigning: settings, logger: logger.clientSink)
        var positions: [TopicPartition: Offset] = [:]
        for (partition, offset) in read.enumerated() {
            positions[TopicPartition(topic: topic, partition: Int32(partition))] = Offset(offset)
        }
        try consumer.assign(positions)
        self.table = table
        self.context = context
        self.logger = logger
        self.topic = topic
        self.read = read
        self.consumer = consumer
        freshness = TableFreshness(maxLag: context.configuration.subscriptionsMaxLag)
    }

    /// Follows the topic until the pipeline ends.
    ///
    /// - Throws: ``PipelineError`` where the table cannot be kept.
    mutating func run() throws {
        while !context.mustEnd {
            try askForEnds()
            try follow()
            try judge()
        }
    }

    /// Asks for the topic's ends when somebody waits for them, and as often as freshness needs.
    private mutating func askForEnds() throws {
        let isAwaited = context.gate.isAwaited && barrier < context.gate.newestRequest
        guard isAwaited || freshness.isQueryDue() else { return }
        let request = context.gate.newestRequest
        let began = ContinuousClock.now
        do {
            let partitions = read.indices.map { TopicPartition(topic: topic, partition: Int32($0)) }
            let found = try consumer.endOffsets(partitions, timeout: .seconds(2))
            ends = partitions.map { found[$0]?.value ?? 0 }
            barrier = request
            freshness.asked(at: began, isAnswered: true)
            context.board.followerUnanswered(nil)
        } catch {
            freshness.asked(at: began, isAnswered: false)
            context.board.followerUnanswered("\(error)")
            if let line = try context.consider(error) {
                logger.warning("the subscriptions' ends are not known: \(line)")
            }
        }
    }

    private mutating func follow() throws {
        records.removeAll()
        consumer.fill(&records, limit: Self.batchLimit, maxBytes: 8 << 20, timeout: .milliseconds(20))
        while let event = consumer.nextEvent(timeout: .zero) {
            if case .error(let error) = event { try consider(error) }
        }
        if !records.isEmpty || !records.endsOfPartition.isEmpty { refusal = nil }
        for error in records.errors { try consider(error) }
        if let refusal { try consider(refusal) }
        for index in 0..<records.count { take(records[index]) }
        if !records.isEmpty, !isAtEnd { try context.reach(.inCatchUp) }
        for end in records.endsOfPartition {
            let partition = Int(end.partition.partition)
            guard end.offset.value > read[partition] else { continue }
            read[partition] = end.offset.value
            isDirty = true
        }
        let isQuiet = records.count < Self.batchLimit
        let isDated = isAtEnd || newestTimestamp > 0
        if isDirty, isDated, isQuiet || changes.count >= Self.applyLimit { try apply() }
    }

    private mutating func take(_ record: RecordView) {
        guard record.offset >= read[Int(record.partition)] else { return }
        changes.append(
            SubscriptionRecord(
                partition: record.partition, offset: record.offset, key: record.key, value: record.value))
        read[Int(record.partition)] = record.offset + 1
        newestTimestamp = max(newestTimestamp, record.timestamp ?? 0)
        isDirty = true
    }

    /// Applies what was read. A full disk is waited for: the changes are kept, and the workers' gate closes meanwhile.
    private mutating func apply() throws {
        try context.reach(.beforeTableCommit)
        do {
            // A table that is still behind is only as young as what it has seen (kafka-rules 18).
            let time = isAtEnd ? context.clock.now() : newestTimestamp
            let change = try table.apply(&changes, nextOffsets: read, at: EventTime(milliseconds: time))
            isDirty = false
            appliedAt = .now
            backoff.reset()
            report(change)
        } catch  where error.recovery == .retry {
            if context.patience.isDue("table") { logger.error("the subscriptions table cannot be written: \(error)") }
            let end = ContinuousClock.now + backoff.next()
            while .now < end, !context.mustEnd { Thread.sleep(forTimeInterval: 0.05) }
            return
        } catch {
            throw PipelineError.defect("the subscriptions table cannot be written: \(error)")
        }
        try context.reach(.afterTableCommit)
    }

    private func report(_ change: SubscriptionTableChange) {
        guard change.malformed > 0 else { return }
        context.meter.count { $0.malformedSubscriptions += change.malformed }
        for example in change.examples {
            logger.warning(
                "a malformed subscription is skipped: \(example.problems.joined(separator: "; "))",
                [
                    "partition": "\(topic)/\(example.partition)", "offset": "\(example.offset)",
                    "key_sha256": example.keyHash,
                ])
        }
    }

    private var isAtEnd: Bool { ends.map { zip($0, read).allSatisfy { $0 <= $1 } } ?? false }

    /// Opens the gate for whoever waits for the ends that were asked for; closes it when the table lags for too long.
    private mutating func judge() throws {
        guard let ends else { return }
        let lag = zip(ends, read).reduce(0) { $0 + max(0, $1.0 - $1.1) } + Int64(isDirty ? changes.count : 0)
        if lag != publishedLag {
            publishedLag = lag
            context.meter.setTableLag(Int(lag))
        }
        if lag == 0, !isDirty {
            freshness.reachedEnd()
            context.gate.setStale(from: freshness.staleFrom)
            context.gate.pass(barrier)
            if .now - appliedAt > .seconds(60) { try apply() }
        }
        let isLagging = context.gate.isLagging()
        if isLagging != wasLagging {
            wasLagging = isLagging
            logger.notice(
                isLagging
                    ? "fan-out pauses: the subscriptions table has not stood at its topic's end for too long"
                    : "fan-out goes on: the subscriptions table stands at its topic's end", ["lag": "\(lag)"])
        }
    }

    private mutating func consider(_ error: KafkaError) throws {
        if error.kind == .offsetOutOfRange {
            throw PipelineError.decisionNeeded(
                "\(topic) was cut or made anew while it was read: start again to rebuild the table (\(error))")
        }
        if error.isFatal { throw PipelineError.defect("the subscriptions' reader failed: \(error)") }
        if let line = try context.consider(error) { logger.warning("\(line); waiting") }
        if error.kind == .authorization, context.patience.isStarting { refusal = error }
    }
}
