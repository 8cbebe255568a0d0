import DispatchRecords
import Events
import KafkaClient

/// The transactional producer of ``ExpansionWorker``, with its topic.
struct ExpansionOutput: ~Copyable {
    var transaction: LazyTransaction
    private let topic: ProducerTopic

    /// Makes the producer, fetches the metadata of its topic and fences its predecessor.
    init(_ context: ExpansionContext, logger: @escaping ClientLog.Sink) throws(KafkaError) {
        var transaction = try LazyTransaction(
            context.configuration, id: "\(context.settings.group).\(context.configuration.instanceID)", logger: logger)
        let topic = try transaction.topic(context.settings.target)
        try transaction.fencePredecessor()
        self.transaction = transaction
        self.topic = topic
    }

    mutating func write(
        key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?, _ headers: UnsafeBufferPointer<EventHeader>
    ) throws(KafkaError) {
        try transaction.write(to: topic, key: key, value: value, headers: headers)
    }
}
