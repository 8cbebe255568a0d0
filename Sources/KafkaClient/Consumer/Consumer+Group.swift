import CRDKafka

extension Consumer {
    /// Joins the group for these topics. Returns at once; the assignment arrives as ``ConsumerEvent/assign(_:)``.
    public mutating func subscribe(to topics: [String]) throws(KafkaError) {
        let list = PartitionList(capacity: topics.count)
        for topic in topics { list.add(TopicPartition(topic: topic, partition: RD_KAFKA_PARTITION_UA), offset: 0) }
        let code = rd_kafka_subscribe(handle.pointer, list.pointer)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { throw handle.error(code, operation: "subscribe") }
    }

    /// The next event of the control queue; nil after `timeout`.
    public mutating func nextEvent(timeout: Duration) -> ConsumerEvent? {
        let deadline = ContinuousClock.now + timeout
        var wait = timeout.milliseconds
        while let event = rd_kafka_queue_poll(queues.control, wait) {
            defer { rd_kafka_event_destroy(event) }
            if let event = consumerEvent(event) { return event }
            wait = (deadline - .now).milliseconds
        }
        return nil
    }

    private func consumerEvent(_ event: OpaquePointer) -> ConsumerEvent? {
        switch rd_kafka_event_type(event) {
        case RD_KAFKA_EVENT_REBALANCE:
            let partitions = rd_kafka_event_topic_partition_list(event)?.partitions ?? []
            if rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS { return .assign(partitions) }
            // Any code other than "revoke" means that the rebalance failed and the partitions are lost.
            let revoked = rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS
            return .revoke(partitions, isLost: !revoked || rd_kafka_assignment_lost(handle.pointer) != 0)
        case RD_KAFKA_EVENT_ERROR:
            return error(event).map(ConsumerEvent.error)
        case RD_KAFKA_EVENT_STATS:
            return rd_kafka_event_stats(event)
                .flatMap { ClientStatistics(json: String(cString: $0)) }
                .map(ConsumerEvent.statistics)
        case RD_KAFKA_EVENT_FETCH:
            // The partition's queue is no longer forwarded to the data queue, so this record would be lost.
            return .error(
                KafkaError(
                    kind: .state, recovery: .recreateClient, isFatal: true, of: handle.client, name: "",
                    message: "a record came over the control queue", operation: "consume"))
        default:
            return nil
        }
    }

    private func error(_ event: OpaquePointer) -> KafkaError? {
        let code = rd_kafka_event_error(event)
        // A reader without a group needs no coordinator, so an ACL that denies it the group is not an error.
        if group.isEmpty, code == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED { return nil }
        let text = rd_kafka_event_error_string(event).map { String(cString: $0) } ?? ""
        if rd_kafka_event_error_is_fatal(event) != 0 || code == RD_KAFKA_RESP_ERR__FATAL, let fatal = fatalError {
            return fatal
        }
        var partition: TopicPartition?
        if let element = rd_kafka_event_topic_partition(event) {
            partition = element.pointee.topicPartition
            rd_kafka_topic_partition_destroy(element)
        }
        let error = handle.error(code, text, partition: partition)
        handle.callbacks.noteCause(error)
        return error
    }

    /// Starts reading at these positions. Answers ``ConsumerEvent/assign(_:)``; a reader without a group chooses its
    /// own. Replaces the previous assignment.
    ///
    /// Until a rebalance is answered, librdkafka serves no other and the whole group waits for this member. If the
    /// positions take time to find, assign no partitions at once and assign them later.
    ///
    /// The partitions' queues are forwarded before librdkafka starts to fetch, so no record reaches the control queue.
    /// A partition that is already being read must be unassigned first, or moved by ``seek(to:timeout:)``: the
    /// forwarding ends when librdkafka stops reading a partition, and its records would then arrive on the control
    /// queue.
    public mutating func assign(_ positions: [TopicPartition: Offset]) throws(KafkaError) {
        owed.removeAll()
        let list = PartitionList(capacity: positions.count)
        for (partition, offset) in positions.sorted(by: { $0.key < $1.key }) {
            list.add(partition, offset: start(of: partition, at: offset.value))
            guard let queue = rd_kafka_queue_get_partition(handle.pointer, partition.topic, partition.partition) else {
                throw handle.error(RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, operation: "assign", partition: partition)
            }
            rd_kafka_queue_forward(queue, queues.queue(of: partition.topic).pointer)
            rd_kafka_queue_destroy(queue)
        }
        queues.forgetBrokers()
        let code = rd_kafka_assign(handle.pointer, list.pointer)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { throw handle.error(code, operation: "assign") }
        assignment = positions.keys.sorted()
    }

    /// Fetches nothing more of these partitions until the next assignment. Drops fetched records that were not read.
    mutating func pause(_ partitions: some Collection<TopicPartition>) throws(KafkaError) {
        let list = PartitionList(partitions, offset: Int64(RD_KAFKA_OFFSET_INVALID))
        let code = rd_kafka_pause_partitions(handle.pointer, list.pointer)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { throw handle.error(code, operation: "pause") }
    }

    /// Stops reading. Answers ``ConsumerEvent/revoke(_:isLost:)``, after the owner has committed. Drops fetched records
    /// that were not read.
    public mutating func unassign() throws(KafkaError) {
        queues.forgetBrokers()
        assignment = []
        owed.removeAll()
        let code = rd_kafka_assign(handle.pointer, nil)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { throw handle.error(code, operation: "unassign") }
    }

    /// Moves assigned partitions to these positions; an abort does not rewind the consumer (docs/kafka.md 6). Drops the
    /// records that were already fetched.
    public mutating func seek(to positions: [TopicPartition: Offset], timeout: Duration) throws(KafkaError) {
        // Before 2.1.0 librdkafka takes these milliseconds for microseconds (docs/kafka.md 6).
        let timeout = rd_kafka_version() < 0x0201_0000 ? timeout * 1_000 : timeout
        let list = PartitionList(capacity: positions.count)
        owed.removeAll { positions[$0.partition] != nil }
        for (partition, offset) in positions { list.add(partition, offset: start(of: partition, at: offset.value)) }
        if let error = rd_kafka_seek_partitions(handle.pointer, list.pointer, timeout.milliseconds) {
            throw handle.error(consuming: error, operation: "seek")
        }
        for element in list.elements where element.err != RD_KAFKA_RESP_ERR_NO_ERROR {
            throw handle.error(element.err, operation: "seek", partition: element.topicPartition)
        }
    }

    /// The current membership, for the transaction that commits what this generation read (docs/kafka.md 7).
    public func groupMetadata() throws(KafkaError) -> GroupMetadata {
        guard let metadata = rd_kafka_consumer_group_metadata(handle.pointer) else {
            throw handle.error(RD_KAFKA_RESP_ERR__UNKNOWN_GROUP, operation: "group_metadata")
        }
        return GroupMetadata(owning: metadata)
    }
}
