import CRDKafka

extension Admin {
    /// Creates topics, with a result for each. An existing one is `.topicAlreadyExists`. Not for the mock cluster.
    ///
    /// - Parameter validateOnly: the broker checks the request and creates nothing.
    /// - Returns: an error by topic name; nil if the topic was created.
    public func createTopics(
        _ topics: [NewTopic], validateOnly: Bool = false, timeout: Duration = .seconds(30)
    ) throws(KafkaError) -> [String: KafkaError?] {
        if topics.isEmpty { return [:] }
        var requested: [OpaquePointer?] = []
        defer { for topic in requested { rd_kafka_NewTopic_destroy(topic) } }
        for topic in topics {
            var text = [CChar](repeating: 0, count: 512)
            guard
                let new = rd_kafka_NewTopic_new(
                    topic.name, topic.partitions, topic.replicationFactor, &text, text.count)
            else { throw .configuration("\(topic.name): \(text.sentence)", operation: "create_topics") }
            requested.append(new)
            for (name, value) in topic.configuration.sorted(by: { $0.key < $1.key }) {
                _ = rd_kafka_NewTopic_set_config(new, name, value)
            }
        }
        let answer = try request(
            "create_topics", RD_KAFKA_ADMIN_OP_CREATETOPICS, timeout: timeout, validateOnly: validateOnly
        ) { options, queue in
            rd_kafka_CreateTopics(handle.pointer, &requested, requested.count, options, queue)
        }
        var count = 0
        let results = rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(answer.event), &count)
        var outcome: [String: KafkaError?] = [:]
        for result in UnsafeBufferPointer(start: results, count: count) {
            let name = String(cString: rd_kafka_topic_result_name(result))
            let code = rd_kafka_topic_result_error(result)
            let text = rd_kafka_topic_result_error_string(result).map { String(cString: $0) } ?? ""
            outcome[name] = .some(
                code == RD_KAFKA_RESP_ERR_NO_ERROR ? nil : handle.error(code, text, operation: "create_topics"))
        }
        return outcome
    }

    /// The topics that exist, with their settings, in the order of `topics`; one that does not exist is missing from
    /// the result.
    public func describe(topics: [String], timeout: Duration = .seconds(30)) throws(KafkaError) -> [TopicDescription] {
        let deadline = ContinuousClock.now + timeout
        var found: [TopicDescription] = []
        for name in topics {
            do throws(KafkaError) {
                let (partitions, replicas) = try handle.topicMetadata(name, timeout: deadline - .now)
                found.append(
                    TopicDescription(
                        name: name, partitions: Int32(clamping: partitions),
                        replicationFactor: Int32(clamping: replicas),
                        configuration: [:]))
            } catch {
                guard error.kind == .unknownTopicOrPartition else { throw error }
            }
        }
        if found.isEmpty { return [] }
        let configurations = try configurations(
            found.map { (RD_KAFKA_RESOURCE_TOPIC, $0.name) }, timeout: deadline - .now)
        for index in found.indices { found[index].configuration = configurations[found[index].name] ?? [:] }
        return found
    }

    /// Effective settings by the resource's name.
    func configurations(
        _ resources: [(rd_kafka_ResourceType_t, String)], timeout: Duration
    ) throws(KafkaError) -> [String: [String: String]] {
        var requested: [OpaquePointer?] = resources.map { rd_kafka_ConfigResource_new($0.0, $0.1) }
        defer { for resource in requested { rd_kafka_ConfigResource_destroy(resource) } }
        // librdkafka asks the controller, and would wait for one that is not there, as in the mock cluster; any broker knows.
        let deadline = ContinuousClock.now + timeout
        let brokers = try cluster(timeout: timeout).brokers.map(\.id)
        let other = brokers.contains(rd_kafka_controllerid(handle.pointer, 0)) ? nil : brokers.first
        let answer = try request("describe_configs", RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, timeout: deadline - .now) {
            options, queue in
            if let other { rd_kafka_AdminOptions_set_broker(options, other, nil, 0) }
            rd_kafka_DescribeConfigs(handle.pointer, &requested, requested.count, options, queue)
        }
        var count = 0
        let results = rd_kafka_DescribeConfigs_result_resources(
            rd_kafka_event_DescribeConfigs_result(answer.event), &count)
        var configurations: [String: [String: String]] = [:]
        for result in UnsafeBufferPointer(start: results, count: count) {
            let code = rd_kafka_ConfigResource_error(result)
            guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
                let text = rd_kafka_ConfigResource_error_string(result).map { String(cString: $0) } ?? ""
                throw handle.error(code, text, operation: "describe_configs")
            }
            var entryCount = 0
            let entries = rd_kafka_ConfigResource_configs(result, &entryCount)
            var settings: [String: String] = [:]
            for entry in UnsafeBufferPointer(start: entries, count: entryCount) {
                guard let name = rd_kafka_ConfigEntry_name(entry), let value = rd_kafka_ConfigEntry_value(entry) else {
                    continue
                }
                settings[String(cString: name)] = String(cString: value)
            }
            configurations[String(cString: rd_kafka_ConfigResource_name(result))] = settings
        }
        return configurations
    }
}
