import KafkaClient
import NotificationPayload
import Notifications
import Pipeline
import Streaming

/// A lane's transactional producer with its topics.
struct LaneOutput: ~Copyable {
    var transaction: LazyTransaction
    private let deliveries: ProducerTopic
    private let retries: [LaneStream: ProducerTopic]
    private let context: DeliveryContext
    private var text = ByteWriter()

    /// Makes the producer, fetches the metadata of its topics and fences its predecessor.
    init(_ context: DeliveryContext, _ provider: Platform, logger: @escaping ClientLog.Sink) throws(KafkaError) {
        let configuration = context.configuration
        let id =
            DeliveryConfiguration.group(of: provider, in: configuration.groupID) + "." + configuration.instanceID
        var transaction = try LazyTransaction(
            settings: configuration.transactionSettings, id: id, timeout: configuration.transactionTimeout,
            host: context.host, worker: context.number(of: provider), of: provider.rawValue, logger: logger)
        let deliveries = try transaction.topic(configuration.topics.deliveries)
        var retries: [LaneStream: ProducerTopic] = [:]
        for stream in context.streams where stream.tier != nil {
            retries[stream] = try transaction.topic(context.topic(stream))
        }
        try transaction.fencePredecessor()
        self.transaction = transaction
        self.deliveries = deliveries
        self.retries = retries
        self.context = context
    }

    /// See ``LazyTransaction/brokerTime(by:in:)``; the retry topics have the broker's times.
    mutating func brokerTime() throws(KafkaError) -> WallTime? {
        guard let topic = retries.values.min(by: { $0.name < $1.name }) else { return nil }
        let record = ProducerRecord(
            key: nil, value: [], headers: [RecordHeader("\(LaneRecordReader.clockHeader)", [0x31])])
        return try transaction.brokerTime(by: record, in: topic)
    }

    /// Writes and commits a transaction.
    ///
    /// - Throws: an error after which the transaction is to be aborted, or the producer to be replaced.
    mutating func write(_ content: LaneTransaction, _ group: borrowing GroupMetadata) throws(KafkaError) {
        for index in content.outcomes.indices { try write(content.outcomes[index]) }
        for retry in content.retries { try write(retry) }
        var offsets: [TopicPartition: CommittedOffset] = [:]
        for commit in content.commits {
            let partition = TopicPartition(topic: context.topic(commit.stream), partition: commit.partition)
            offsets[partition] = CommittedOffset(
                offset: Offset(commit.offset.offset), metadata: commit.offset.metadata)
        }
        try transaction.commit(offsets, group)
    }

    private mutating func write(_ outcome: DeliveryRecord) throws(KafkaError) {
        text.removeAll()
        outcome.append(to: &text)
        let key = Array(outcome.device.utf8)
        let value = text.bytes
        try key.withUnsafeBufferPointer { key throws(KafkaError) in
            try transaction.write(
                to: deliveries, key: UnsafeRawBufferPointer(key), value: value, partition: outcome.partition)
        }
    }

    private mutating func write(_ retry: LaneTransaction.Retry) throws(KafkaError) {
        guard let topic = retries[retry.stream] else { return }
        var headers = retry.record.headers.map { header in
            RecordHeader(String(decoding: header.name, as: UTF8.self), header.value)
        }
        headers.append(RecordHeader("\(RetryNote.header)", Array(retry.note.text.utf8)))
        try transaction.write(
            ProducerRecord(
                key: Array(retry.record.deviceHash.utf8), value: retry.record.value, headers: headers,
                partition: retry.record.partition), to: topic)
    }
}
