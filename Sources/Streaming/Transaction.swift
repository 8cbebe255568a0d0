import Hosting
import KafkaClient

/// What a worker and its tenant write to: the outputs of a transaction, which begins with the first record that is written,
/// or with its commit. It stays the same when its producer is replaced. One thread.
package final class Transaction {
    private let contract: Contract
    private let host: RoleHost
    private let logger: ClientLog.Sink
    // Each record touches these. Run-time checks of exclusive access cost, and nothing calls out while it changes them.
    @exclusivity(unchecked) private var producer: any TransactionalProducer & ~Copyable
    @exclusivity(unchecked) private var topics: [ProducerTopic]
    /// Whether something was written since the last end.
    @exclusivity(unchecked) private(set) var isBegun = false
    /// Whether it is unknown, after an error, if the last transaction was committed.
    private(set) var isEndUnknown = false

    package init(_ contract: Contract, _ host: RoleHost, logger: @escaping ClientLog.Sink) throws(KafkaError) {
        self.contract = contract
        self.host = host
        self.logger = logger
        var producer = try contract.clients.producer(contract, logger)
        topics = try Self.prepare(&producer, contract)
        self.producer = producer
    }

    /// Has another producer from now on, which ends what its predecessor has left open, one way or the other.
    func renew() throws(KafkaError) {
        var producer = try contract.clients.producer(contract, logger)
        topics = try Self.prepare(&producer, contract)
        self.producer = producer
        (isBegun, isEndUnknown) = (false, false)
    }

    /// Fetches the metadata of its topics and fences its predecessor.
    private static func prepare(
        _ producer: inout any TransactionalProducer & ~Copyable, _ contract: Contract
    ) throws(KafkaError) -> [ProducerTopic] {
        var topics: [ProducerTopic] = []
        for name in contract.outputs { topics.append(try producer.topic(name, timeout: .seconds(10))) }
        try producer.initTransactions(deadline: .seconds(10))
        return topics
    }

    // MARK: Writing

    /// - Parameters:
    ///   - number: of ``Contract/outputs``.
    ///   - tag: what a refusal of the record is known by.
    package func write(
        to number: Int, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
        headers: UnsafeBufferPointer<HeaderView> = UnsafeBufferPointer(start: nil, count: 0), partition: Int32? = nil,
        tag: UInt64 = 0
    ) throws(KafkaError) {
        try begin()
        try producer.produce(
            to: topics[number], key: key, value: value, headers: headers, partition: partition, timestamp: nil, tag: tag
        )
    }

    package func write(_ record: ProducerRecord, to number: Int, tag: UInt64 = 0) throws(KafkaError) {
        try begin()
        try producer.produce(record, to: topics[number], tag: tag)
    }

    private func begin() throws(KafkaError) {
        guard !isBegun else { return }
        isEndUnknown = false
        try producer.beginTransaction()
        isBegun = true
    }

    /// Begins to deliver what lingers. See ``Producer/deliverSoon()``.
    func deliverSoon() { producer.deliverSoon() }

    /// Waits until everything is delivered.
    ///
    /// - Returns: when the broker appended the latest record with ``Producer/timedTag``, by its own clock; nil where the
    ///   topic has the producers' times.
    package func deliver() throws(KafkaError) -> WallTime? {
        _ = producer.takeAppendTime()
        try producer.flush(timeout: contract.transactionTimeout)
        return producer.takeAppendTime()
    }

    // MARK: Its end

    /// - Throws: an error after which the transaction is to be aborted, or the producer to be replaced.
    func commit(_ offsets: [TopicPartition: CommittedOffset], _ group: borrowing GroupMetadata) throws(KafkaError) {
        let slot = contract.slot
        try begin()
        try host.reach(.beforeCommit, worker: slot.number)
        host.calls.enter(slot.label, now: host.time.now())
        defer { host.calls.leave(slot.label) }
        try producer.sendOffsets(offsets, group, deadline: contract.transactionTimeout)
        try host.reach(.afterSendOffsets, worker: slot.number)
        do throws(KafkaError) {
            try producer.commitTransaction(deadline: nil)
        } catch {
            isEndUnknown = error.recovery != .abortTransaction
            throw error
        }
        try host.reach(.afterCommit, worker: slot.number)
        isBegun = false
    }

    /// Aborts what is open, if it can be soon: nobody works on, and readers of the outputs would wait for the time-out.
    func abandon() {
        guard isBegun else { return }
        try? producer.abortTransaction(deadline: .seconds(5))
        isBegun = false
    }

    func abort() throws(KafkaError) {
        guard isBegun else { return }
        host.calls.enter(contract.slot.label, now: host.time.now())
        defer { host.calls.leave(contract.slot.label) }
        try producer.abortTransaction(deadline: nil)
        isBegun = false
        // All reports have arrived: the next transaction, which begins later, is not charged with them.
        producer.poll(timeout: .zero)
        _ = producer.takeFailures()
    }

    /// The broker's time, by a record in a transaction that is aborted. While nothing is open.
    ///
    /// - Parameter record: one that says nothing: on the mock cluster, where nothing is aborted, it is read.
    /// - Returns: nil where the topic has the producers' times.
    /// - Throws: an error after which the producer is to be replaced.
    func brokerTime(by record: ProducerRecord, in number: Int) throws(KafkaError) -> WallTime? {
        do throws(KafkaError) {
            _ = producer.takeAppendTime()
            try write(record, to: number, tag: Producer.timedTag)
            try producer.flush(timeout: .seconds(10))
            // Not delivered: where its partition is refused, nothing but a commit says why, and an abort would be fatal.
            if producer.takeAppendPosition() == nil { try producer.commitTransaction(deadline: .seconds(10)) }
            try abort()
            return producer.takeAppendTime()
        } catch {
            // What it has written must not be committed with the next transaction.
            var error = error
            error.recovery = .recreateClient
            error.topics = [topics[number].name]
            throw error
        }
    }

    // MARK: What the producer tells

    /// See ``Producer/acknowledgedLate``.
    package var acknowledgedLate: Int { producer.acknowledgedLate }

    func poll() { producer.poll(timeout: .zero) }

    func takeErrors() -> [KafkaError] { producer.takeErrors() }

    /// See ``Producer/takeFailures()``.
    func takeFailures() -> [DeliveryFailure] { producer.takeFailures() }

    /// A copy of a request may still be in flight, and would corrupt the next transaction (docs/kafka.md 4).
    var hasRepeatedRequests: Bool { producer.hasRepeatedRequests }
}
