import Hosting
import KafkaClient

/// A transactional producer whose transaction begins with the first record that is written, or with its commit.
package struct LazyTransaction: ~Copyable {
    private var producer: any TransactionalProducer & ~Copyable
    private let timeout: Duration
    private let host: RoleHost
    private let worker: Int
    private let name: String
    private(set) var isBegun = false
    /// Whether it is unknown, after an error, if the last transaction was committed.
    package private(set) var isEndUnknown = false

    /// Makes the producer. Before the first record come its topics, then ``fencePredecessor()``.
    init(_ contract: Contract, _ host: RoleHost, logger: @escaping ClientLog.Sink) throws(KafkaError) {
        producer = try contract.clients.producer(contract, logger)
        timeout = contract.transactionTimeout
        self.host = host
        worker = contract.slot.number
        name = contract.slot.label
    }

    /// Fetches the topic's metadata.
    package mutating func topic(_ name: String) throws(KafkaError) -> ProducerTopic {
        try producer.topic(name, timeout: .seconds(10))
    }

    /// What another producer of the same id has left open ends, one way or the other.
    package mutating func fencePredecessor() throws(KafkaError) {
        try producer.initTransactions(deadline: .seconds(10))
    }

    package mutating func write(
        to topic: ProducerTopic, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
        headers: UnsafeBufferPointer<HeaderView>
    ) throws(KafkaError) {
        try begin()
        try producer.produce(
            to: topic, key: key, value: value, headers: headers, partition: nil, timestamp: nil, tag: 0)
    }

    package mutating func write(_ record: ProducerRecord, to topic: ProducerTopic) throws(KafkaError) {
        try begin()
        try producer.produce(record, to: topic, tag: 0)
    }

    /// Without headers.
    package mutating func write(
        to topic: ProducerTopic, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, partition: Int32
    ) throws(KafkaError) {
        try begin()
        try producer.produce(
            to: topic, key: key, value: value, headers: UnsafeBufferPointer(start: nil, count: 0), partition: partition,
            timestamp: nil, tag: 0)
    }

    private mutating func begin() throws(KafkaError) {
        guard !isBegun else { return }
        isEndUnknown = false
        try producer.beginTransaction()
        isBegun = true
    }

    /// - Throws: an error after which the transaction is to be aborted, or the producer to be replaced.
    package mutating func commit(
        _ offsets: [TopicPartition: CommittedOffset], _ group: borrowing GroupMetadata
    ) throws(KafkaError) {
        try begin()
        try host.reach(.beforeCommit, worker: worker)
        host.calls.enter(name, now: host.time.now())
        defer { host.calls.leave(name) }
        try producer.sendOffsets(offsets, group, deadline: timeout)
        try host.reach(.afterSendOffsets, worker: worker)
        do throws(KafkaError) {
            try producer.commitTransaction(deadline: nil)
        } catch {
            isEndUnknown = error.recovery != .abortTransaction
            throw error
        }
        try host.reach(.afterCommit, worker: worker)
        isBegun = false
    }

    /// Aborts what is open, if it can be soon: nobody works on, and readers of the outputs would wait for the time-out.
    package mutating func abandon() {
        guard isBegun else { return }
        try? producer.abortTransaction(deadline: .seconds(5))
        isBegun = false
    }

    package mutating func abort() throws(KafkaError) {
        guard isBegun else { return }
        host.calls.enter(name, now: host.time.now())
        defer { host.calls.leave(name) }
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
    package mutating func brokerTime(
        by record: ProducerRecord, in topic: ProducerTopic
    ) throws(KafkaError) -> WallTime? {
        do throws(KafkaError) {
            try begin()
            _ = producer.takeAppendTime()
            try producer.produce(record, to: topic, tag: Producer.timedTag)
            try producer.flush(timeout: .seconds(10))
            // Not delivered: where its partition is refused, nothing but a commit says why, and an abort would be fatal.
            if producer.takeAppendPlace() == nil { try producer.commitTransaction(deadline: .seconds(10)) }
            try abort()
            return producer.takeAppendTime()
        } catch {
            // What it has written must not be committed with the next transaction.
            var error = error
            error.recovery = .recreateClient
            error.topics = [topic.name]
            throw error
        }
    }

    /// Begins to deliver what lingers. See ``Producer/deliverSoon()``.
    package mutating func deliverSoon() { producer.deliverSoon() }

    package mutating func poll() { producer.poll(timeout: .zero) }

    package mutating func takeErrors() -> [KafkaError] { producer.takeErrors() }

    /// A copy of a request may still be in flight, and would corrupt the next transaction (docs/kafka.md 4).
    package var hasRepeatedRequests: Bool { mutating get { producer.hasRepeatedRequests } }

    /// Why the broker refused a record, if it did and always would.
    package mutating func takeRefusal() -> KafkaError? {
        producer.takeFailures().lazy.map(\.error).first { $0.kind.traits.isOfRecord }
    }
}
