import KafkaClient
import Pipeline

/// The two clients of a ``RedriveProducer``: one writes, the other queries the group's committed offsets.
struct RedriveClient: ~Copyable {
    var producer: Producer
    let topic: ProducerTopic
    let reader: Consumer

    init(
        id: String, to target: String, _ configuration: PipelineConfiguration, logger sink: @escaping ClientLog.Sink
    ) throws(KafkaError) {
        let timeout = configuration.transactionTimeout.wholeMilliseconds
        var settings = configuration.kafka
        settings["transaction.timeout.ms"] = String(timeout)
        // librdkafka requires it not to exceed the transaction's.
        if settings["socket.timeout.ms"] == nil { settings["socket.timeout.ms"] = String(min(10_000, timeout)) }
        let reader = try Self.reader(id, configuration, "read_committed", sink)
        var producer = try Producer(settings: settings, transactionalID: Self.name(id), logger: sink)
        let topic = try producer.topic(target)
        self.reader = reader
        self.producer = producer
        self.topic = topic
    }

    /// The name of the group, and of the transactional id.
    static func name(_ id: String) -> String { "carillon-replay-\(id)" }

    /// A consumer that queries on behalf of the group.
    ///
    /// - Parameter isolation: `read_committed` waits until an open transaction ends.
    static func reader(
        _ id: String, _ configuration: PipelineConfiguration, _ isolation: String, _ sink: @escaping ClientLog.Sink
    ) throws(KafkaError) -> Consumer {
        var settings = configuration.kafka
        settings["isolation.level"] = isolation
        return try Consumer(assigning: settings, group: name(id), logger: sink)
    }

    static func positions(
        of topic: String, _ reader: borrowing Consumer, _ id: String
    ) throws -> [Int32: OwnedPosition] {
        let count = try reader.partitionCount(of: topic, timeout: .seconds(10))
        let ids = (0..<count).map { TopicPartition(topic: topic, partition: Int32($0)) }
        var found: [Int32: OwnedPosition] = [:]
        for (partition, committed) in try reader.committed(ids, timeout: .seconds(10)) {
            found[partition.partition] = try OwnedPosition(committed, group: name(id))
        }
        return found
    }
}
