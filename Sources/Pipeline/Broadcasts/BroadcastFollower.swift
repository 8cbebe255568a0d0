import Foundation
import KafkaClient
import Streaming
import Synchronization

/// Follows `topic.broadcasts` from its beginning: which broadcasts there are now, and how old that knowledge is.
///
/// Each role that needs it runs it, and one of them reads: where that role ends, another one's thread reads on. Any thread
/// reads ``view``.
package final class BroadcastFollower: Sendable {
    private let configuration: PipelineConfiguration
    private let logger: Logger
    private let metrics: Metrics
    private let published = Mutex(BroadcastView())
    /// Whoever holds it reads.
    private let turn = DispatchSemaphore(value: 1)

    /// - Parameter configuration: with `topic.broadcasts`.
    package init(_ configuration: PipelineConfiguration, logger: Logger, metrics: Metrics) {
        self.configuration = configuration
        self.logger = logger
        self.metrics = metrics
    }

    /// The newest view. It says nothing yet while `freshSince` is nil.
    package var view: BroadcastView { published.withLock { $0 } }

    package func publish(_ view: BroadcastView) { published.withLock { $0 = view } }

    /// Follows the topic on the caller's thread, as long as no other does, until its host drains or stops. It waits for the
    /// broker without limit, with a log line every 10 s; the view grows old meanwhile.
    ///
    /// - Throws: ``PipelineError``: another number of partitions than one, or what a person has to fix where the topic's
    ///   end has never been reached.
    package func run(on host: RoleHost) throws {
        while turn.wait(timeout: .now() + 0.2) == .timedOut {
            if host.mustEnd { return }
        }
        defer { turn.signal() }
        let patience = Patience()
        do {
            while !host.mustEnd {
                var reading = try host.untilItWorks(logger, patience) { () throws(KafkaError) in
                    try BroadcastReading(configuration, host, patience, logger: logger, metrics: metrics)
                }
                var isSame = true
                while isSame, !host.mustEnd {
                    isSame = try reading.round()
                    let view = isSame ? reading.view : BroadcastView()
                    publish(view)
                }
            }
        } catch is PipelineEnded {}
    }
}

/// One reader of `topic.broadcasts`, from its first offset on. One thread.
private struct BroadcastReading: ~Copyable {
    /// A view is at most one second old where broadcasts are sent from it.
    private static let interval: Duration = .milliseconds(400)
    /// The topic never gets more partitions by itself.
    private static let countInterval: Duration = .seconds(10)

    private let partition: TopicPartition
    private let settings: Settings
    private let host: RoleHost
    private let patience: Patience
    private let logger: Logger
    private let metrics: Metrics
    private var consumer: Consumer
    private var records = RecordBatch()
    private var fold = BroadcastFold()
    private var asked: ContinuousClock.Instant?
    private var counted: ContinuousClock.Instant?
    /// The newest answer.
    private var end: Int64?
    private var watch = ConsumerWatch()
    /// A refusal at the start: librdkafka reports it once and retries without another report.
    private var refusal: KafkaError?

    init(
        _ configuration: PipelineConfiguration, _ host: RoleHost, _ patience: Patience, logger: Logger, metrics: Metrics
    ) throws(KafkaError) {
        let partition = TopicPartition(topic: configuration.topics.broadcasts, partition: 0)
        let settings = configuration.kafka.merging(["auto.offset.reset": "error"]) { $1 }
        var consumer = try Consumer(assigning: settings, logger: logger.clientSink)
        let starts = try consumer.explaining { consumer throws(KafkaError) in
            try consumer.startOffsets([partition], timeout: .seconds(5))
        }
        try consumer.assign([partition: starts[partition] ?? Offset(0)])
        self.partition = partition
        self.settings = settings
        self.host = host
        self.patience = patience
        self.logger = logger
        self.metrics = metrics
        self.consumer = consumer
    }

    var view: BroadcastView { fold.view }

    /// Asks for the end where that is due, and takes what has arrived; about 200 ms where there is nothing.
    ///
    /// - Returns: false if the log is another one than at first: it has to be read from its beginning.
    mutating func round() throws -> Bool {
        let now = ContinuousClock.now
        if asked.map({ now - $0 >= Self.interval }) ?? true {
            asked = now
            guard try ask(now) else { return startsAgain("it ends before what was read of it") }
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
        take()
        for error in errors { try consider(error) }
        if let refusal { try consider(refusal) }
        try replaceStuckConsumer()
        return true
    }

    private mutating func take() {
        for index in 0..<records.count {
            let view = records[index]
            if let batch = records.unreadable.first(where: { $0.offsets.upperBound == view.offset }) {
                fold.take(unreadable: batch)
                continue
            }
            // The broker refuses a record without a key: the topic is compacted.
            fold.take(
                BroadcastRecord(
                    offset: view.offset, timestamp: view.timestamp, key: view.key.map { Array($0) } ?? [],
                    value: view.value.map { Array($0) } ?? [], headers: records.record(at: index).headers),
                isTombstone: view.value == nil)
        }
        for end in records.endsOfPartition { fold.reach(end.offset.value) }
        if !records.isEmpty || !records.endsOfPartition.isEmpty { refusal = nil }
        if fold.view.freshSince != nil { patience.hasWorked() }
    }

    /// - Returns: false if the log ends before what was read of it.
    private mutating func ask(_ now: ContinuousClock.Instant) throws -> Bool {
        let found: Int64
        do {
            if counted.map({ now - $0 >= Self.countInterval }) ?? true {
                let count = try consumer.partitionCount(of: partition.topic, timeout: .seconds(2))
                guard count == 1 else {
                    throw PipelineError.decisionNeeded(
                        "\(partition.topic) has \(count) partitions and must have one: broadcasts are sent in their "
                            + "order; create it again with one")
                }
                counted = now
            }
            found = try consumer.endOffsets([partition], timeout: .seconds(2))[partition]?.value ?? 0
        } catch let error as KafkaError {
            end = nil
            host.health.brokersAreDown("\(error)", of: partition.topic)
            try consider(error)
            return true
        }
        end = found
        host.health.brokersAreDown(nil, of: partition.topic)
        return fold.ends(at: found, askedAt: now)
    }

    private func startsAgain(_ reason: String) -> Bool {
        logger.notice("\(partition.topic) is read again from its beginning: \(reason)")
        return false
    }

    private mutating func consider(_ error: KafkaError) throws {
        if error.isFatal { throw PipelineError.defect("the reader of \(partition.topic) failed: \(error)") }
        if let line = try host.consider(error, patience) { logger.warning("\(partition.topic): \(line); waiting") }
        if error.kind == .authorization, patience.isStarting { refusal = error }
    }

    /// Replaces a consumer that gets nothing although there is something to read (docs/kafka.md 11).
    private mutating func replaceStuckConsumer() throws {
        guard records.isEmpty, records.endsOfPartition.isEmpty, let end else {
            return watch.progressed(hasRecords: !records.isEmpty)
        }
        let reached = fold.view.reached
        guard watch.isCheckDue(), watch.isStuck(ends: [partition: end], reached: { _ in reached }) else { return }
        logger.notice("recreates the consumer of \(partition.topic): \(KafkaError.stuckConsumer.message)")
        records.removeAll()
        consumer = try Consumer(assigning: settings, logger: logger.clientSink)
        try consumer.assign([partition: Offset(reached)])
    }
}
