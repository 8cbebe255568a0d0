import Deliveries
import KafkaClient
import NotificationPayload
import Pipeline

/// A lane's transactional producer with its topics.
struct LaneOutput: ~Copyable {
    private var producer: Producer
    private let deliveries: ProducerTopic
    private let retries: [LaneStream: ProducerTopic]
    private let context: DeliveryContext
    private let timeout: Duration
    private var text = ByteWriter()
    /// Whether the open transaction's end is unknown after an error.
    private(set) var isEndUnknown = false

    /// Makes the producer, fences its predecessor and fetches the metadata of its topics.
    init(_ context: DeliveryContext, lane: String, logger: @escaping ClientLog.Sink) throws(KafkaError) {
        let configuration = context.configuration
        let id =
            DeliveryConfiguration.group(of: lane, in: configuration.groupID) + "." + configuration.instanceID
        var producer = try Producer(
            settings: configuration.transactionSettings, transactionalID: id, logger: logger)
        let deliveries = try producer.topic(configuration.topics.deliveries)
        var retries: [LaneStream: ProducerTopic] = [:]
        for stream in context.streams where stream.tier != nil {
            retries[stream] = try producer.topic(context.topic(stream))
        }
        try producer.initTransactions(deadline: .seconds(10))
        self.producer = producer
        self.deliveries = deliveries
        self.retries = retries
        self.context = context
        timeout = configuration.transactionTimeout
    }

    /// Writes and commits a transaction.
    ///
    /// - Throws: an error after which the transaction is to be aborted, or the producer to be replaced.
    mutating func write(_ transaction: LaneTransaction, _ group: borrowing GroupMetadata) throws(KafkaError) {
        isEndUnknown = false
        try producer.beginTransaction()
        for index in transaction.outcomes.indices { try write(transaction.outcomes[index]) }
        for retry in transaction.retries { try write(retry) }
        var offsets: [TopicPartition: CommittedOffset] = [:]
        for commit in transaction.commits {
            let partition = TopicPartition(topic: context.topic(commit.stream), partition: commit.partition)
            offsets[partition] = CommittedOffset(
                offset: Offset(commit.offset.offset), metadata: commit.offset.metadata)
        }
        try producer.sendOffsets(offsets, group, deadline: timeout)
        do throws(KafkaError) {
            try producer.commitTransaction()
        } catch {
            isEndUnknown = error.recovery != .abortTransaction
            throw error
        }
    }

    private mutating func write(_ outcome: DeliveryRecord) throws(KafkaError) {
        text.removeAll()
        outcome.append(to: &text)
        let key = Array(outcome.device.utf8)
        let value = text.bytes
        try key.withUnsafeBufferPointer { key throws(KafkaError) in
            try producer.produce(
                to: deliveries, key: UnsafeRawBufferPointer(key), value: value, partition: outcome.partition)
        }
    }

    private mutating func write(_ retry: LaneTransaction.Retry) throws(KafkaError) {
        guard let topic = retries[retry.stream] else { return }
        var headers = retry.record.headers.map { header in
            RecordHeader(String(decoding: header.name, as: UTF8.self), header.value)
        }
        headers.append(RecordHeader("\(RetryNote.header)", Array(retry.note.text.utf8)))
        try producer.produce(
            ProducerRecord(
                key: Array(retry.record.deviceHash.utf8), value: retry.record.value, headers: headers,
                partition: retry.record.partition), to: topic)
    }

    mutating func abort() throws(KafkaError) { try producer.abortTransaction() }

    mutating func poll() { producer.poll(timeout: .zero) }

    mutating func takeErrors() -> [KafkaError] { producer.takeErrors() }

    /// A copy of a request may still be in flight, and would corrupt the next transaction (docs/kafka.md 4).
    var hasRepeatedRequests: Bool { producer.hasRepeatedRequests }

    /// Why the broker permanently refused a record, if it did.
    mutating func takeRefusal() -> KafkaError? {
        producer.takeFailures().lazy.map(\.error).first { $0.kind.isOfRecord }
    }
}
