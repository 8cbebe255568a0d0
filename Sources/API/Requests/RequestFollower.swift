import Digests
import JSONReader
import KafkaClient
import Notifications
import Pipeline
import Streaming
import Synchronization

/// Follows `topic.requests` from a day ago on, so that the index has what other processes write. One thread runs it, any asks.
package final class RequestFollower: Sendable {
    private let configuration: PipelineConfiguration
    private let index: RequestIndex
    private let logger: Logger
    private let caughtUp = Atomic(false)
    private let fresh = Mutex<ContinuousClock.Instant?>(nil)

    package init(_ configuration: PipelineConfiguration, _ index: RequestIndex, logger: Logger) {
        self.configuration = configuration
        self.index = index
        self.logger = logger
    }

    /// Whether it has ever read what the topic had at its start.
    package var isCaughtUp: Bool { caughtUp.load(ordering: .acquiring) }

    /// When the topic's end was asked for last and answered; nil before the first time.
    package var freshSince: ContinuousClock.Instant? { fresh.withLock { $0 } }

    /// Follows the topic until the host drains or stops.
    func run(on host: RoleHost) throws {
        let patience = Patience()
        do {
            while !host.mustEnd {
                var reading = try host.untilItWorks(logger, patience) { () throws(KafkaError) in
                    try RequestReading(configuration, index, host, patience, logger)
                }
                while !host.mustEnd, try reading.round() {
                    if reading.isAtEnd { caughtUp.store(true, ordering: .releasing) }
                    fresh.withLock { $0 = reading.answered }
                }
            }
        } catch is PipelineEnded {}
    }
}

/// One reader of the topic, as long as that has the same partitions.
private struct RequestReading: ~Copyable {
    private static let interval = Duration.seconds(1)

    private let topic: String
    private let index: RequestIndex
    private let host: RoleHost
    private let patience: Patience
    private let logger: Logger
    private let partitions: [TopicPartition]
    private var consumer: Consumer
    private var records = RecordBatch(readsHeaders: false)
    private var reader = JSONReader()
    /// The next offsets, and the newest ends.
    private var reached: [TopicPartition: Int64]
    private var ends: [TopicPartition: Int64] = [:]
    private var asked: ContinuousClock.Instant?
    private(set) var answered: ContinuousClock.Instant?
    private var watch = ConsumerWatch()

    init(
        _ configuration: PipelineConfiguration, _ index: RequestIndex, _ host: RoleHost, _ patience: Patience,
        _ logger: Logger
    ) throws(KafkaError) {
        topic = configuration.topics.requests
        let settings = configuration.kafka.merging(["auto.offset.reset": "error"]) { $1 }
        var consumer = try Consumer(assigning: settings, logger: logger.clientSink)
        let begin = host.clock.now() - RequestIndex.generation
        let topic = topic
        let starts = try consumer.explaining { consumer throws(KafkaError) in
            let partitions = try consumer.partitions(of: topic, timeout: .seconds(5))
            return try consumer.offsets(at: begin, of: partitions, timeout: .seconds(5))
        }
        try consumer.assign(starts)
        self.consumer = consumer
        (self.index, self.host, self.patience, self.logger) = (index, host, patience, logger)
        partitions = starts.keys.sorted()
        reached = starts.mapValues(\.value)
    }

    /// Whether everything is read that the topic had when its ends were asked for last.
    var isAtEnd: Bool { !ends.isEmpty && ends.allSatisfy { reached[$0.key, default: 0] >= $0.value } }

    /// Takes what has arrived; about 200 ms where there is nothing.
    ///
    /// - Returns: false if the topic has to be read anew.
    mutating func round() throws -> Bool {
        let now = ContinuousClock.now
        if asked.map({ now - $0 >= Self.interval }) ?? true {
            asked = now
            guard try ask(now) else { return false }
        }
        records.removeAll()
        consumer.fill(&records, limit: 5_000, maxBytes: 8 << 20, timeout: IdleWait.woken)
        var errors = records.errors
        while let event = consumer.nextEvent(timeout: .zero) {
            switch event {
            case .error(let error): errors.append(error)
            case .assign, .revoke, .statistics: continue
            }
        }
        take()
        for error in errors {
            if error.kind == .offsetOutOfRange { return false }
            if error.isFatal { throw PipelineError.defect("the reader of \(topic) failed: \(error)") }
            try consider(error)
        }
        if !records.isEmpty { watch.progressed(hasRecords: true) }
        // A consumer that gets nothing although there is something to read is replaced (docs/kafka.md 11).
        return
            !(records.isEmpty && watch.isCheckDue()
            && watch.isStuck(ends: ends) { [reached] in reached[$0, default: 0] })
    }

    private mutating func take() {
        let now = host.clock.now()
        for number in 0..<records.count {
            let record = records[number]
            let partition = TopicPartition(topic: record.topic, partition: record.partition)
            reached[partition] = record.offset + 1
            guard let value = record.value, let object = try? reader.parse(value),
                let id = RequestBody.id(of: object)
            else { continue }
            index.take(
                id, RequestBody.content(of: object),
                RequestIndex.Place(
                    partition: record.partition, offset: record.offset, time: record.timestamp ?? now), at: now)
        }
        for (partition, offset) in records.endsOfPartition {
            reached[partition] = max(reached[partition] ?? 0, offset.value)
        }
    }

    /// - Returns: false if the topic has other partitions.
    private mutating func ask(_ now: ContinuousClock.Instant) throws -> Bool {
        do throws(KafkaError) {
            guard try consumer.partitionCount(of: topic, timeout: .seconds(2)) == partitions.count else {
                logger.notice("\(topic) has another number of partitions: it is read again")
                return false
            }
            ends = try consumer.endOffsets(partitions, timeout: .seconds(2)).mapValues(\.value)
            answered = now
            patience.hasWorked()
            host.health.brokersAreDown(nil, of: topic)
        } catch {
            host.health.brokersAreDown("\(error)", of: topic)
            try consider(error)
        }
        return true
    }

    private func consider(_ error: KafkaError) throws {
        if let line = try host.consider(error, patience) { logger.warning("\(topic): \(line); waiting") }
    }
}
