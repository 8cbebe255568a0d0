import KafkaClient

/// The two clients of a ``RedriveProducer``: one writes, the other queries the group's committed offsets.
struct RedriveClient: ~Copyable {
    var producer: Producer
    let reader: Consumer

    init(
        id: String, to target: String, _ configuration: PipelineConfiguration, logger sink: @escaping ClientLog.Sink
    ) throws(KafkaError) {
        let reader = try Self.reader(id, configuration, "read_committed", sink)
        var producer = try Producer(
            settings: configuration.transactionSettings, transactionalID: Self.name(id), logger: sink)
        _ = try producer.topic(target)
        self.reader = reader
        self.producer = producer
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
        of topics: [String], _ reader: borrowing Consumer, _ id: String
    ) throws -> [TopicPartition: OwnedPosition] {
        var ids: [TopicPartition] = []
        for topic in topics { ids += try reader.partitions(of: topic, timeout: .seconds(10)) }
        var found: [TopicPartition: OwnedPosition] = [:]
        for (partition, committed) in try reader.committed(ids, timeout: .seconds(10)) {
            found[partition] = try OwnedPosition(committed, group: name(id))
        }
        return found
    }
}
