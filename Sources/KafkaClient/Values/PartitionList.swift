import CRDKafka

/// librdkafka's list of partitions. Local to one function and never stored: a list that is still alive makes
/// `rd_kafka_destroy` hang (docs/kafka.md 14).
struct PartitionList: ~Copyable {
    let pointer: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>

    init(capacity: Int) {
        pointer = rd_kafka_topic_partition_list_new(Int32(clamping: capacity))
    }

    /// Every partition with the same (logical) offset or time.
    init(_ partitions: some Collection<TopicPartition>, offset: Int64) {
        self.init(capacity: partitions.count)
        for partition in partitions { add(partition, offset: offset) }
    }

    /// Offsets with their metadata, in the order of the partitions.
    init(_ offsets: [TopicPartition: CommittedOffset]) {
        self.init(capacity: offsets.count)
        for (partition, committed) in offsets.sorted(by: { $0.key < $1.key }) {
            let element = add(partition, offset: committed.offset.value)
            element.setMetadata(committed.metadata)
        }
    }

    deinit {
        rd_kafka_topic_partition_list_destroy(pointer)
    }

    @discardableResult
    func add(_ partition: TopicPartition, offset: Int64) -> UnsafeMutablePointer<rd_kafka_topic_partition_t> {
        let element = rd_kafka_topic_partition_list_add(pointer, partition.topic, partition.partition)!
        element.pointee.offset = offset
        return element
    }

    var elements: UnsafeMutableBufferPointer<rd_kafka_topic_partition_t> {
        UnsafeMutableBufferPointer(start: pointer.pointee.elems, count: Int(pointer.pointee.cnt))
    }
}

extension UnsafeMutablePointer<rd_kafka_topic_partition_list_t> {
    /// The partitions of a list that librdkafka owns.
    var partitions: [TopicPartition] {
        UnsafeBufferPointer(start: pointee.elems, count: Int(pointee.cnt)).map(\.topicPartition)
    }
}

extension rd_kafka_topic_partition_t {
    var topicPartition: TopicPartition { TopicPartition(topic: String(cString: topic), partition: partition) }

    var metadataString: String {
        guard let metadata else { return "" }
        return String(decoding: UnsafeRawBufferPointer(start: metadata, count: metadata_size), as: UTF8.self)
    }
}

extension UnsafeMutablePointer<rd_kafka_topic_partition_t> {
    /// The list frees it with librdkafka's allocator.
    fileprivate func setMetadata(_ metadata: String) {
        let count = metadata.utf8.count
        guard count > 0, let memory = rd_kafka_mem_malloc(nil, count) else { return }
        _ = UnsafeMutableRawBufferPointer(start: memory, count: count).initializeMemory(
            as: UInt8.self, from: metadata.utf8)
        pointee.metadata = memory
        pointee.metadata_size = count
    }
}
