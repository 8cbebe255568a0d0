import CRDKafka

extension ClientHandle {
    /// Fetches a topic's metadata from a broker.
    ///
    /// - Throws: `.unknownTopicOrPartition`, `.authorization`, or the reason why no broker answered.
    func topicMetadata(_ name: String, timeout: Duration) throws(KafkaError) -> (partitions: Int, replicas: Int) {
        guard let topic = rd_kafka_topic_new(pointer, name, nil) else {
            throw error(rd_kafka_last_error(), about: name)
        }
        defer { rd_kafka_topic_destroy(topic) }
        return try metadata(of: topic, name, timeout: timeout)
    }

    func metadata(
        of topic: OpaquePointer, _ name: String, timeout: Duration
    ) throws(KafkaError) -> (partitions: Int, replicas: Int) {
        var answer: UnsafePointer<rd_kafka_metadata>?
        let code = rd_kafka_metadata(pointer, 0, topic, &answer, timeout.milliseconds)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR, let answer else { throw error(code, about: name) }
        defer { rd_kafka_metadata_destroy(answer) }
        for topic in UnsafeBufferPointer(start: answer.pointee.topics, count: Int(answer.pointee.topic_cnt)) {
            guard topic.err == RD_KAFKA_RESP_ERR_NO_ERROR else { throw error(topic.err, about: name) }
            let partitions = UnsafeBufferPointer(start: topic.partitions, count: Int(topic.partition_cnt))
            return (partitions.count, partitions.map { Int($0.replica_cnt) }.min() ?? 0)
        }
        throw error(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, about: name)
    }

    private func error(_ code: rd_kafka_resp_err_t, about topic: String) -> KafkaError {
        var error = self.error(code, operation: "metadata of \(topic)")
        error.topics = [topic]
        return error
    }

    func clusterID(timeout: Duration) -> String? {
        guard let text = rd_kafka_clusterid(pointer, timeout.milliseconds) else { return nil }
        defer { rd_kafka_mem_free(pointer, text) }
        return String(cString: text)
    }
}
