import CRDKafka
import Glibc

extension Consumer {
    /// The offsets that the group has committed.
    ///
    /// A partition that is missing from the result has no commit. While a dead predecessor's transaction is open, this
    /// throws with `.retry` (docs/kafka.md 8): stop reading, and retry for up to the transaction timeout + 10 s.
    public func committed(
        _ partitions: [TopicPartition], timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: CommittedOffset] {
        if partitions.isEmpty { return [:] }
        let list = PartitionList(partitions, offset: Int64(RD_KAFKA_OFFSET_INVALID))
        let code = rd_kafka_committed(handle.pointer, list.pointer, timeout.milliseconds)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { throw handle.error(code, operation: "committed") }
        var committed: [TopicPartition: CommittedOffset] = [:]
        for element in list.elements {
            guard element.err == RD_KAFKA_RESP_ERR_NO_ERROR else {
                throw handle.error(element.err, operation: "committed", partition: element.topicPartition)
            }
            if element.offset == Int64(RD_KAFKA_OFFSET_INVALID) { continue }
            committed[element.topicPartition] = CommittedOffset(
                offset: Offset(element.offset), metadata: element.metadataString)
        }
        return committed
    }

    /// Like ``committed(_:timeout:)``, but retries for up to `timeout` while a dead predecessor's transaction is open.
    package func committedWhenStable(
        _ partitions: [TopicPartition], timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: CommittedOffset] {
        let deadline = ContinuousClock.now + timeout
        while true {
            do throws(KafkaError) {
                return try committed(partitions, timeout: .seconds(5))
            } catch {
                guard error.recovery == .retry, .now < deadline else { throw error }
            }
        }
    }

    /// Commits outside a transaction, for `--from` and `offsets set`, again as long as the coordinator does not take it for
    /// now. This consumer must be a member of the current generation, or the group must have no members.
    public func commit(_ offsets: [TopicPartition: CommittedOffset], timeout: Duration) throws(KafkaError) {
        if offsets.isEmpty { return }
        let deadline = ContinuousClock.now + timeout
        let pause = Duration.milliseconds(100)
        while true {
            do throws(KafkaError) {
                return try commitOnce(offsets, timeout: deadline - .now)
            } catch {
                // What timed out has had its time.
                guard error.recovery == .retry, error.kind != .timedOut, deadline - .now > pause else { throw error }
                usleep(UInt32(pause.milliseconds) * 1_000)
            }
        }
    }

    private func commitOnce(_ offsets: [TopicPartition: CommittedOffset], timeout: Duration) throws(KafkaError) {
        let list = PartitionList(offsets)
        guard let queue = rd_kafka_queue_new(handle.pointer) else {
            throw .configuration("no memory for a queue", operation: "commit")
        }
        defer { rd_kafka_queue_destroy(queue) }
        var code = rd_kafka_commit_queue(handle.pointer, list.pointer, queue, nil, nil)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { throw handle.error(code, operation: "commit") }
        guard let event = rd_kafka_queue_poll(queue, timeout.milliseconds) else {
            throw handle.error(RD_KAFKA_RESP_ERR__TIMED_OUT, operation: "commit")
        }
        defer { rd_kafka_event_destroy(event) }
        code = rd_kafka_event_error(event)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { throw handle.error(code, operation: "commit") }
        guard let answer = rd_kafka_event_topic_partition_list(event) else { return }
        for element in UnsafeBufferPointer(start: answer.pointee.elems, count: Int(answer.pointee.cnt))
        where element.err != RD_KAFKA_RESP_ERR_NO_ERROR {
            throw handle.error(element.err, operation: "commit", partition: element.topicPartition)
        }
    }

    /// The last stable offset of each partition, in one call (docs/kafka.md 19): how far a read-committed consumer can
    /// read now.
    public func endOffsets(
        _ partitions: [TopicPartition], timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: Offset] {
        try offsets(Int64(RD_KAFKA_OFFSET_END), of: partitions, timeout: timeout, operation: "end_offsets")
    }

    /// The first offset of each partition that the log still has.
    public func startOffsets(
        _ partitions: [TopicPartition], timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: Offset] {
        try offsets(Int64(RD_KAFKA_OFFSET_BEGINNING), of: partitions, timeout: timeout, operation: "start_offsets")
    }

    /// The first offset at or after the time, or after 1970: Kafka gives earlier times a meaning of their own. The last
    /// stable offset if there is none.
    ///
    /// Blocks: answer a pending rebalance first. On failure it refreshes the topics' metadata and retries, 4 times in
    /// 1.5 s (docs/kafka.md 16).
    public func offsets(
        at time: WallTime, of partitions: [TopicPartition], timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: Offset] {
        try offsets(at: Dictionary(partitions.map { ($0, time) }) { first, _ in first }, timeout: timeout)
    }

    /// The same with a time for each partition.
    public func offsets(
        at times: [TopicPartition: WallTime], timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: Offset] {
        let deadline = ContinuousClock.now + timeout
        var found = try offsets(
            times.mapValues { max($0, .epoch).milliseconds }, timeout: timeout, operation: "offsets_for_times")
        let pastTheEnd = times.keys.filter { found[$0] == nil }
        if pastTheEnd.isEmpty { return found }
        found.merge(try endOffsets(pastTheEnd, timeout: max(deadline - .now, .seconds(1)))) { $1 }
        return found
    }

    /// The high watermarks from the latest fetch responses. Does not call the broker and never blocks. A partition
    /// without a fetch response is missing from the result.
    public func highWatermarks(_ partitions: [TopicPartition]) -> [TopicPartition: Offset] {
        var watermarks: [TopicPartition: Offset] = [:]
        for partition in partitions {
            var low: Int64 = -1
            var high: Int64 = -1
            let code = rd_kafka_get_watermark_offsets(
                handle.pointer, partition.topic, partition.partition, &low, &high)
            if code == RD_KAFKA_RESP_ERR_NO_ERROR, high >= 0 { watermarks[partition] = Offset(high) }
        }
        return watermarks
    }

    /// The pause before each retry of a lookup that the broker refused: the leaders of a new topic are elected within a
    /// second.
    private static let pauses: [Duration] = [
        .milliseconds(100), .milliseconds(200), .milliseconds(400), .milliseconds(800),
    ]

    private func offsets(
        _ time: Int64, of partitions: [TopicPartition], timeout: Duration, operation: String
    ) throws(KafkaError) -> [TopicPartition: Offset] {
        try offsets(
            Dictionary(partitions.map { ($0, time) }) { first, _ in first }, timeout: timeout, operation: operation)
    }

    /// One ListOffsets lookup for all partitions; one for which the broker has no offset (-1) is missing from the
    /// result.
    private func offsets(
        _ times: [TopicPartition: Int64], timeout: Duration, operation: String
    ) throws(KafkaError) -> [TopicPartition: Offset] {
        if times.isEmpty { return [:] }
        let deadline = ContinuousClock.now + timeout
        var pauses = Self.pauses[...]
        while true {
            do throws(KafkaError) {
                return try offsetsOnce(times, timeout: deadline - .now, operation: operation)
            } catch {
                guard let pause = pauses.popFirst(), deadline - .now > pause, !error.isFatal,
                    error.recovery != .giveUp
                else { throw error }
                usleep(UInt32(pause.milliseconds) * 1_000)
                for topic in Set(times.keys.map(\.topic)) { try refresh(topic, timeout: deadline - .now) }
            }
        }
    }

    /// Refreshes the metadata. A topic that may no longer be described looks as if it had no partitions: throws the
    /// refusal instead.
    private func refresh(_ topic: String, timeout: Duration) throws(KafkaError) {
        do throws(KafkaError) {
            _ = try partitionCount(of: topic, timeout: timeout)
        } catch {
            if error.kind == .authorization { throw error }
        }
    }

    private func offsetsOnce(
        _ times: [TopicPartition: Int64], timeout: Duration, operation: String
    ) throws(KafkaError) -> [TopicPartition: Offset] {
        let list = PartitionList(capacity: times.count)
        for (partition, time) in times.sorted(by: { $0.key < $1.key }) { list.add(partition, offset: time) }
        let code = rd_kafka_offsets_for_times(handle.pointer, list.pointer, timeout.milliseconds)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
            // All partitions are of one topic here, so the refusal is about it.
            let refused = code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ? times.keys.min() : nil
            throw handle.error(code, operation: operation, partition: refused)
        }
        var offsets: [TopicPartition: Offset] = [:]
        for element in list.elements {
            guard element.err == RD_KAFKA_RESP_ERR_NO_ERROR else {
                throw handle.error(element.err, operation: operation, partition: element.topicPartition)
            }
            if element.offset >= 0 { offsets[element.topicPartition] = Offset(element.offset) }
        }
        return offsets
    }

    /// How many partitions a topic has.
    public func partitionCount(of topic: String, timeout: Duration) throws(KafkaError) -> Int {
        try handle.topicMetadata(topic, timeout: timeout).partitions
    }

    /// The partitions of a topic, in their order.
    package func partitions(of topic: String, timeout: Duration) throws(KafkaError) -> [TopicPartition] {
        let count = try partitionCount(of: topic, timeout: timeout)
        return (0..<count).map { TopicPartition(topic: topic, partition: Int32($0)) }
    }

    /// The first offset and the last stable offset of each partition of a topic.
    package func bounds(of topic: String, timeout: Duration) throws(KafkaError) -> [Int32: Range<Int64>] {
        let ids = try partitions(of: topic, timeout: timeout)
        let starts = try startOffsets(ids, timeout: timeout)
        let ends = try endOffsets(ids, timeout: timeout)
        var bounds: [Int32: Range<Int64>] = [:]
        for id in ids {
            let start = starts[id]?.value ?? 0
            bounds[id.partition] = start..<max(start, ends[id]?.value ?? start)
        }
        return bounds
    }

    /// The cluster's id; nil if no broker answers in time.
    public func clusterID(timeout: Duration) -> String? { handle.clusterID(timeout: timeout) }
}
