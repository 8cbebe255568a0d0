import KafkaClient
import Streaming

/// Reads all partitions of some topics outside of any group, as long as their logs are the same. One thread.
package struct LogReading: ~Copyable {
    package struct Terms: Sendable {
        package var topics: [String]
        /// Where it begins.
        package var start: Start
        /// How often it asks for the ends.
        package var interval: Duration
        package var readsHeaders: Bool
        /// Whether somebody waits for each record: then a client of its own asks for the ends. On the connection that reads,
        /// the answer waits behind a fetch, and the reading for the answer.
        package var isWaitedFor = false

        package init(topics: [String], from start: Start = .first, interval: Duration, readsHeaders: Bool) {
            (self.topics, self.start, self.interval, self.readsHeaders) = (topics, start, interval, readsHeaders)
        }

        /// As logs and health call it.
        fileprivate var name: String { topics.joined(separator: ", ") }
    }

    package enum Start: Sendable {
        case first
        /// At the first record of this time or later.
        case time(WallTime)
        /// At these offsets, of all partitions.
        case offsets([TopicPartition: Offset])
    }

    /// A topic gets more partitions seldom.
    private static let countInterval = Duration.seconds(10)

    package let partitions: [TopicPartition]
    private let terms: Terms
    private let settings: Settings
    private let host: RoleHost
    private let patience: Patience
    private let logger: Logger
    private let metrics: Metrics
    private let starts: [TopicPartition: Offset]
    private var consumer: Consumer
    /// Asks for the ends, where somebody waits for what is read.
    private let asker: Consumer?
    private var records: RecordBatch
    private var progress = LogProgress()
    private var asked: ContinuousClock.Instant?
    private var counted: ContinuousClock.Instant
    /// The newest answer.
    private var ends: [TopicPartition: Int64]?
    private var watch = ConsumerWatch()
    /// A refusal at the start: librdkafka reports it once and retries without another report.
    private var refusal: KafkaError?

    /// - Parameter patience: ends the role where a person has to act before the ends were ever reached.
    package init(
        _ terms: Terms, _ kafka: Settings, _ host: RoleHost, _ patience: Patience, logger: Logger, metrics: Metrics
    ) throws(KafkaError) {
        let settings = kafka.merging(["auto.offset.reset": "error"]) { $1 }
        let asker = terms.isWaitedFor ? try Consumer(assigning: settings, logger: logger.clientSink) : nil
        var consumer = try Consumer(assigning: settings, logger: logger.clientSink)
        let starts = try consumer.explaining { consumer throws(KafkaError) in
            var partitions: [TopicPartition] = []
            for topic in terms.topics { partitions += try consumer.partitions(of: topic, timeout: .seconds(5)) }
            switch terms.start {
            case .first: return try consumer.startOffsets(partitions, timeout: .seconds(5))
            case .time(let time): return try consumer.offsets(at: time, of: partitions, timeout: .seconds(5))
            case .offsets(let offsets): return offsets
            }
        }
        try consumer.assign(starts)
        partitions = starts.keys.sorted()
        self.consumer = consumer
        self.asker = asker
        (self.terms, self.settings, self.starts) = (terms, settings, starts)
        (self.host, self.patience, self.logger, self.metrics) = (host, patience, logger, metrics)
        records = RecordBatch(readsHeaders: terms.readsHeaders)
        counted = .now
    }

    /// See ``LogProgress/freshSince``.
    package var freshSince: ContinuousClock.Instant? { progress.freshSince }

    /// Asks for the ends where that is due, and waits about 200 ms for records.
    ///
    /// - Parameter take: gets what has arrived, where that is not nothing; a batch that could not be read has a record in its
    ///   place.
    /// - Returns: false if the logs are others than at first: they have to be read again.
    /// - Throws: ``PipelineError`` where a person has to act.
    package mutating func round(_ take: (borrowing RecordBatch) -> Void) throws -> Bool {
        let now = ContinuousClock.now
        if asked.map({ now - $0 >= terms.interval }) ?? true {
            asked = now
            guard try ask(now) else { return false }
        }
        records.removeAll()
        consumer.fill(&records, limit: 5_000, maxBytes: 8 << 20, timeout: IdleWait.woken)
        metrics.countUnreadable(records.unreadable)
        var errors = records.errors
        while let event = consumer.nextEvent(timeout: .zero) {
            switch event {
            case .error(let error): errors.append(error)
            case .assign, .revoke, .statistics: continue
            }
        }
        if let error = errors.first(where: { $0.kind == .offsetOutOfRange }) { return startsAgain("\(error)") }
        if !records.isEmpty || !records.endsOfPartition.isEmpty {
            take(records)
            reach()
        }
        for error in errors { try consider(error) }
        if let refusal { try consider(refusal) }
        try replaceStuckConsumer()
        return true
    }

    private mutating func reach() {
        for index in 0..<records.count {
            let record = records[index]
            progress.reach(TopicPartition(topic: record.topic, partition: record.partition), record.offset + 1)
        }
        for end in records.endsOfPartition { progress.reach(end.partition, end.offset.value) }
        progress.look()
        refusal = nil
        if progress.freshSince != nil { patience.hasWorked() }
    }

    /// - Returns: false if the topic has other partitions, or ends before what was read of it.
    private mutating func ask(_ now: ContinuousClock.Instant) throws -> Bool {
        let found: [TopicPartition: Int64]
        do throws(KafkaError) {
            if now - counted >= Self.countInterval {
                for topic in terms.topics {
                    let count = try count(of: topic)
                    let before = partitions.count { $0.topic == topic }
                    guard count == before else { return startsAgain("\(topic) has \(count) partitions now") }
                }
                counted = now
            }
            found = try endOffsets().mapValues(\.value)
        } catch {
            ends = nil
            host.health.brokersAreDown("\(error)", of: terms.name)
            try consider(error)
            return true
        }
        ends = found
        host.health.brokersAreDown(nil, of: terms.name)
        return progress.ends(found, askedAt: now) || startsAgain("a log ends before what was read of it")
    }

    private func count(of topic: String) throws(KafkaError) -> Int {
        switch asker {
        case .some(let asker): try asker.partitionCount(of: topic, timeout: .seconds(2))
        case .none: try consumer.partitionCount(of: topic, timeout: .seconds(2))
        }
    }

    private func endOffsets() throws(KafkaError) -> [TopicPartition: Offset] {
        switch asker {
        case .some(let asker): try asker.endOffsets(partitions, timeout: .seconds(2))
        case .none: try consumer.endOffsets(partitions, timeout: .seconds(2))
        }
    }

    private func startsAgain(_ reason: String) -> Bool {
        logger.notice("\(terms.name) is read again from its beginning: \(reason)")
        return false
    }

    private mutating func consider(_ error: KafkaError) throws {
        if error.isFatal { throw PipelineError.defect("the reader of \(terms.name) failed: \(error)") }
        if let line = try host.consider(error, patience) { logger.warning("\(terms.name): \(line); waiting") }
        if error.kind == .authorization, patience.isStarting { refusal = error }
    }

    /// Replaces a consumer that gets nothing although there is something to read (docs/kafka.md 11).
    private mutating func replaceStuckConsumer() throws {
        guard records.isEmpty, records.endsOfPartition.isEmpty, let ends else {
            return watch.progressed(hasRecords: !records.isEmpty)
        }
        let next = starts.merging(progress.reached.mapValues { Offset($0) }) { $1 }
        guard watch.isCheckDue(), watch.isStuck(ends: ends, reached: { next[$0]?.value ?? 0 }) else { return }
        logger.notice("recreates the consumer of \(terms.name): \(KafkaError.stuckConsumer.message)")
        records.removeAll()
        consumer = try Consumer(assigning: settings, logger: logger.clientSink)
        try consumer.assign(next)
    }
}
