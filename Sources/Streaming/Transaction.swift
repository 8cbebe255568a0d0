import Hosting
import KafkaClient

/// What a worker and its tenant write to: the outputs of a transaction, whichever producer it has. One thread.
package final class Transaction {
    /// A producer with its topics.
    private struct Output: ~Copyable {
        var transaction: LazyTransaction
        let topics: [ProducerTopic]

        /// Makes the producer, fetches the metadata of its topics and fences its predecessor.
        init(_ contract: Contract, _ host: RoleHost, logger: @escaping ClientLog.Sink) throws(KafkaError) {
            var transaction = try LazyTransaction(contract, host, logger: logger)
            var topics: [ProducerTopic] = []
            for name in contract.outputs { topics.append(try transaction.topic(name)) }
            try transaction.fencePredecessor()
            self.transaction = transaction
            self.topics = topics
        }
    }

    private let contract: Contract
    private let host: RoleHost
    private let logger: ClientLog.Sink
    private var output: Output

    package init(_ contract: Contract, _ host: RoleHost, logger: @escaping ClientLog.Sink) throws(KafkaError) {
        self.contract = contract
        self.host = host
        self.logger = logger
        output = try Output(contract, host, logger: logger)
    }

    /// Has another producer from now on, which ends what its predecessor has left open, one way or the other.
    func renew() throws(KafkaError) { output = try Output(contract, host, logger: logger) }

    /// - Parameter number: of ``Contract/outputs``.
    package func write(
        to number: Int, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
        headers: UnsafeBufferPointer<HeaderView>
    ) throws(KafkaError) {
        try output.transaction.write(to: output.topics[number], key: key, value: value, headers: headers)
    }

    /// Without headers.
    package func write(
        to number: Int, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, partition: Int32
    ) throws(KafkaError) {
        try output.transaction.write(to: output.topics[number], key: key, value: value, partition: partition)
    }

    package func write(_ record: ProducerRecord, to number: Int) throws(KafkaError) {
        try output.transaction.write(record, to: output.topics[number])
    }

    func deliverSoon() { output.transaction.deliverSoon() }

    func commit(
        _ offsets: [TopicPartition: CommittedOffset], _ group: borrowing GroupMetadata
    ) throws(KafkaError) {
        try output.transaction.commit(offsets, group)
    }

    /// Whether something was written since the last end.
    var isBegun: Bool { output.transaction.isBegun }

    /// See ``LazyTransaction/isEndUnknown``.
    var isEndUnknown: Bool { output.transaction.isEndUnknown }

    func abort() throws(KafkaError) { try output.transaction.abort() }

    func abandon() { output.transaction.abandon() }

    /// See ``LazyTransaction/brokerTime(by:in:)``.
    func brokerTime(by record: ProducerRecord, in number: Int) throws(KafkaError) -> WallTime? {
        try output.transaction.brokerTime(by: record, in: output.topics[number])
    }

    func poll() { output.transaction.poll() }

    func takeErrors() -> [KafkaError] { output.transaction.takeErrors() }

    func takeRefusal() -> KafkaError? { output.transaction.takeRefusal() }

    var hasRepeatedRequests: Bool { output.transaction.hasRepeatedRequests }
}
