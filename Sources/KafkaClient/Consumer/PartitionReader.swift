import CRDKafka

/// Reads single partitions, each from where its owner says and as often as it says: it joins no group and commits nothing.
///
/// Each partition has a queue of its own, which fills up to `queued.min.messages` or `queued.max.messages.kbytes`: one that
/// is not read keeps none of the others waiting. One thread owns it.
package struct PartitionReader: ~Copyable {
    private let handle: ClientHandle
    private let signal: QueueSignal
    private var topics: [String: OpaquePointer] = [:]
    private var queues: [TopicPartition: DataQueue] = [:]

    /// - Parameter signal: is raised when records have come.
    package init(
        settings: Settings, signal: QueueSignal, logger sink: @escaping ClientLog.Sink
    ) throws(KafkaError) {
        let merged = try ClientSettings.merged(
            fixed: ClientSettings.consumerFixed, user: settings, defaults: ClientSettings.consumerDefaults,
            for: .consumer)
        handle = try ClientHandle(.reader, settings: merged, callbacks: ClientCallbacks(sink: sink))
        self.signal = signal
    }

    deinit {
        for partition in queues.keys { stopReading(partition) }
        for topic in topics.values { rd_kafka_topic_destroy(topic) }
    }

    /// Begins at an offset, or moves there; drops what was fetched.
    package mutating func start(_ partition: TopicPartition, at offset: Int64) throws(KafkaError) {
        stop(partition)
        if topics[partition.topic] == nil {
            topics[partition.topic] = rd_kafka_topic_new(handle.pointer, partition.topic, nil)
        }
        let queue = try DataQueue(of: handle)
        guard let topic = topics[partition.topic],
            rd_kafka_consume_start_queue(topic, partition.partition, offset, queue.pointer) == 0
        else { throw handle.error(rd_kafka_last_error(), operation: "consume_start", partition: partition) }
        rd_kafka_queue_io_event_enable(queue.pointer, signal.writeEnd, "1", 1)
        queues[partition] = queue
        queue.wakeUp(for: partition)
    }

    /// Ends reading a partition.
    package mutating func stop(_ partition: TopicPartition) {
        guard queues[partition] != nil else { return }
        stopReading(partition)
        queues[partition] = nil
    }

    private func stopReading(_ partition: TopicPartition) {
        if let queue = queues[partition] { rd_kafka_queue_io_event_enable(queue.pointer, -1, nil, 0) }
        if let topic = topics[partition.topic] { _ = rd_kafka_consume_stop(topic, partition.partition) }
    }

    /// Takes what has been fetched of a partition, up to `limit` records; never waits. Errors are in the batch; of a
    /// partition that has one, nothing else comes before it is started again.
    package func fill(_ batch: inout RecordBatch, from partition: TopicPartition, limit: Int) {
        guard let queue = queues[partition] else { return }
        batch.keep(handle)
        rd_kafka_poll(handle.pointer, 0)
        queue.fill(&batch, limit: limit) { [handle] message, batch in
            batch.note(message, of: handle)
            rd_kafka_message_destroy(message)
        }
    }
}
