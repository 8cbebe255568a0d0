import Dispatch
import Hosting
import KafkaClient
import Pipeline
import Synchronization

/// Writes batches of records, each in one transaction: all of its records, or none. Any thread gives; one thread owns the
/// producer.
package final class BatchWriter: Sendable {
    package enum Outcome: Sendable {
        /// Where each record is, in the order of the batch.
        case written([RecordPosition])
        /// Certainly none of them.
        case notWritten(KafkaError?)
        case unknown
    }

    package struct Batch: Sendable {
        package var records: [ProducerRecord]
        /// From then on it is not begun, and no longer waited for.
        package var deadline: ContinuousClock.Instant
        /// Called once, on the writer's thread.
        package var done: @Sendable (Outcome) -> Void

        package init(
            _ records: [ProducerRecord], deadline: ContinuousClock.Instant, done: @escaping @Sendable (Outcome) -> Void
        ) {
            (self.records, self.deadline, self.done) = (records, deadline, done)
        }

        var size: Int {
            records.reduce(0) { $0 + ($1.key?.count ?? 0) + ($1.value?.count ?? 0) }
        }
    }

    private struct Mailbox {
        var batches: [Batch] = []
        var bytes = 0
        var isOpen = false
        var isClosing = false
    }

    package static let mostBatches = 100
    package static let mostBytes = 32 << 20
    private static let idle = DispatchTimeInterval.milliseconds(200)

    private let topic: String
    private let mailbox = Mutex(Mailbox())
    private let came = DispatchSemaphore(value: 0)

    package init(topic: String) {
        self.topic = topic
    }

    /// Of a producer of batches: what is open blocks the readers of committed records, so that it is open for a few seconds
    /// at most where its process dies.
    package static func settings(_ configuration: PipelineConfiguration) -> Settings {
        var settings = configuration.kafka
        // Of both names the later one would count.
        settings["message.timeout.ms"] = nil
        // The last one at most as long as a transaction, as librdkafka demands.
        for name in ["delivery.timeout.ms", "request.timeout.ms", "socket.timeout.ms"] {
            settings[name] = "\(configuration.api.wait.wholeMilliseconds)"
        }
        settings["transaction.timeout.ms"] = "\((configuration.api.wait * 2).wholeMilliseconds)"
        return settings
    }

    /// Of a process.
    package static func transactionalID(_ configuration: PipelineConfiguration) -> String {
        "\(configuration.groupID)-api-\(configuration.instanceID)"
    }

    /// Whether somebody writes now.
    package var isOpen: Bool { mailbox.withLock { $0.isOpen } }

    /// - Returns: false if nobody writes, or too much waits: it is certain that this batch is not written.
    package func give(_ batch: Batch) -> Bool {
        let isTaken = mailbox.withLock { mailbox in
            guard mailbox.isOpen, !mailbox.isClosing, mailbox.batches.count < Self.mostBatches,
                mailbox.bytes + batch.size <= Self.mostBytes
            else { return false }
            mailbox.batches.append(batch)
            mailbox.bytes += batch.size
            return true
        }
        if isTaken { came.signal() }
        return isTaken
    }

    /// Takes no more; ``run(_:make:tell:)`` ends when all have their outcome.
    package func close() {
        mailbox.withLock { $0.isClosing = true }
        came.signal()
    }

    /// Writes until ``close()``, with a new producer where one can no longer be used.
    ///
    /// - Parameters:
    ///   - make: a producer that has not begun to work.
    ///   - tell: hears why something was not written, and that another process has taken the transactional id.
    /// - Throws: what `make` and `tell` throw.
    package func run<Client: BatchProducer & ~Copyable>(
        make: () throws -> Client, tell: (KafkaError) throws -> Void
    ) throws {
        defer { leave() }
        // Whoever was fenced waits for the next batch: two processes of one id would fence each other without an end.
        var isWanted = true
        while true {
            if !isWanted {
                guard wait() else { return }
            }
            var client = try make()
            isWanted = try write(with: &client, tell) != .fenced
            if isClosed { return }
        }
    }

    private enum End {
        case closed
        case replace
        case fenced
    }

    /// Writes as long as the producer can be used.
    private func write<Client: BatchProducer & ~Copyable>(
        with client: inout Client, _ tell: (KafkaError) throws -> Void
    ) throws -> End {
        var isReady = false
        while true {
            expire()
            do throws(KafkaError) {
                if !isReady {
                    try client.start()
                    isReady = true
                    mailbox.withLock { $0.isOpen = true }
                }
            } catch {
                try tell(error)
                if isClosed { return .closed }
                guard error.recovery == .retry else {
                    _ = came.wait(timeout: .now() + Self.idle)
                    return error.kind == .fenced ? .fenced : .replace
                }
                continue
            }
            guard let batch = take() else {
                if isClosed { return .closed }
                client.look()
                _ = came.wait(timeout: .now() + Self.idle)
                continue
            }
            let (outcome, error) = write(batch, with: &client)
            batch.done(outcome)
            // What refuses one batch, such as a permission that is missing, refuses the next ones.
            if case .notWritten(var cause?) = outcome, cause != error {
                // A transaction's error does not say of which topic it is.
                if cause.topics.isEmpty { cause.topics = [topic] }
                try tell(cause)
            }
            if let error {
                try tell(error)
                return error.kind == .fenced ? .fenced : .replace
            }
            if client.hasRepeatedRequests { return .replace }
        }
    }

    /// One transaction.
    ///
    /// - Returns: the outcome, and why the producer cannot be used any more.
    private func write<Client: BatchProducer & ~Copyable>(
        _ batch: Batch, with client: inout Client
    ) -> (Outcome, KafkaError?) {
        do throws(KafkaError) {
            try client.begin()
            for (number, record) in batch.records.enumerated() {
                try client.give(record, to: topic, tag: UInt64(number))
            }
        } catch {
            return (.notWritten(error), abort(&client, after: error))
        }
        do throws(KafkaError) {
            try client.commit(deadline: max(batch.deadline - .now, .milliseconds(100)))
        } catch {
            // Then the broker was never asked to commit; after anything else it may have done so.
            guard error.recovery == .abortTransaction else { return (.unknown, error) }
            let cause = client.takeFailure() ?? error
            return (.notWritten(cause), abort(&client, after: error))
        }
        let places = client.takePlaces()
        let positions = batch.records.indices.compactMap { number in
            places[UInt64(number)].map { RecordPosition(topic, $0.partition, $0.offset) }
        }
        return (.written(positions), nil)
    }

    /// - Returns: why the producer cannot be used any more.
    private func abort<Client: BatchProducer & ~Copyable>(
        _ client: inout Client, after error: KafkaError
    ) -> KafkaError? {
        guard !error.isFatal, error.kind != .fenced else { return error }
        do throws(KafkaError) {
            try client.abort(deadline: .seconds(2))
            return nil
        } catch {
            return error
        }
    }

    private var isClosed: Bool { mailbox.withLock { $0.isClosing && $0.batches.isEmpty } }

    /// Waits until there is something to write.
    ///
    /// - Returns: false once it is closed.
    private func wait() -> Bool {
        while mailbox.withLock({ $0.batches.isEmpty }) {
            if isClosed { return false }
            _ = came.wait(timeout: .now() + Self.idle)
        }
        return true
    }

    private func take() -> Batch? {
        mailbox.withLock { mailbox in
            guard !mailbox.batches.isEmpty else { return nil }
            let batch = mailbox.batches.removeFirst()
            mailbox.bytes -= batch.size
            return batch
        }
    }

    /// Ends what has waited too long.
    private func expire() {
        let now = ContinuousClock.now
        let late = mailbox.withLock { mailbox in
            let late = mailbox.batches.filter { $0.deadline <= now }
            guard !late.isEmpty else { return late }
            mailbox.batches.removeAll { $0.deadline <= now }
            mailbox.bytes = mailbox.batches.reduce(0) { $0 + $1.size }
            return late
        }
        for batch in late { batch.done(.notWritten(nil)) }
    }

    /// Nobody writes any more.
    private func leave() {
        let rest = mailbox.withLock { mailbox in
            mailbox.isOpen = false
            defer { (mailbox.batches, mailbox.bytes) = ([], 0) }
            return mailbox.batches
        }
        for batch in rest { batch.done(.notWritten(nil)) }
    }
}

/// A producer with a transactional id, as far as batches need it; see `Producer`.
package protocol BatchProducer: ~Copyable {
    var hasRepeatedRequests: Bool { get }
    /// Fences predecessors. Throws `.retry` after a moment: call it again.
    mutating func start() throws(KafkaError)
    mutating func begin() throws(KafkaError)
    mutating func give(_ record: ProducerRecord, to topic: String, tag: UInt64) throws(KafkaError)
    mutating func commit(deadline: Duration) throws(KafkaError)
    mutating func abort(deadline: Duration) throws(KafkaError)
    /// Where the records are, by their tags.
    mutating func takePlaces() -> [UInt64: (partition: Int32, offset: Int64)]
    /// Why a record was not taken; nil where its transaction had failed before.
    mutating func takeFailure() -> KafkaError?
    /// Hears of what has happened to the client while there was nothing to write.
    mutating func look()
}

/// Librdkafka's.
struct KafkaBatchProducer: BatchProducer, ~Copyable {
    private var producer: Producer
    private var reports: [DeliveryReport] = []

    /// - Parameter producer: one that reports each record.
    init(_ producer: consuming Producer) {
        self.producer = producer
    }

    var hasRepeatedRequests: Bool { producer.hasRepeatedRequests }

    mutating func start() throws(KafkaError) {
        do throws(KafkaError) {
            try producer.initTransactions(deadline: .seconds(1))
        } catch {
            // The client's own errors say more than a time-out.
            throw producer.takeErrors().last { $0.kind == .authentication || $0.kind == .tls } ?? error
        }
    }

    mutating func begin() throws(KafkaError) {
        _ = producer.takeReports()
        try producer.beginTransaction()
    }

    mutating func give(_ record: ProducerRecord, to topic: String, tag: UInt64) throws(KafkaError) {
        try producer.produce(record, to: producer.topic(topic, timeout: .seconds(1)), tag: tag)
    }

    mutating func commit(deadline: Duration) throws(KafkaError) {
        try producer.commitTransaction(deadline: deadline)
    }

    mutating func abort(deadline: Duration) throws(KafkaError) {
        try producer.abortTransaction(deadline: deadline)
    }

    mutating func takePlaces() -> [UInt64: (partition: Int32, offset: Int64)] {
        var places: [UInt64: (partition: Int32, offset: Int64)] = [:]
        for report in producer.takeReports() {
            if case .written(let partition, let offset) = report.outcome { places[report.tag] = (partition, offset) }
        }
        return places
    }

    mutating func look() {
        producer.poll(timeout: .zero)
        _ = producer.takeErrors()
    }

    mutating func takeFailure() -> KafkaError? {
        for report in producer.takeReports() {
            switch report.outcome {
            case .written: continue
            // What the transaction failed for says its end.
            case .notWritten(let error), .unknown(let error): if error.kind != .purged { return error }
            }
        }
        return nil
    }
}
