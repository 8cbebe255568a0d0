import CRDKafka

extension Admin {
    /// The group's committed offsets with their metadata, of these partitions or (nil) of all that have a commit. A
    /// partition without a commit is missing from the result.
    ///
    /// - Throws: `.retry` while an open transaction has offsets of one of them (docs/kafka.md 8).
    public func listCommitted(
        group: String, partitions: [TopicPartition]? = nil, timeout: Duration = .seconds(30)
    ) throws(KafkaError) -> [TopicPartition: CommittedOffset] {
        if let partitions, partitions.isEmpty { return [:] }
        let list = PartitionList(partitions ?? [], offset: Int64(RD_KAFKA_OFFSET_INVALID))
        var requested: OpaquePointer? = rd_kafka_ListConsumerGroupOffsets_new(
            group, partitions == nil ? nil : list.pointer)
        defer { rd_kafka_ListConsumerGroupOffsets_destroy(requested) }
        let answer = try request("list_offsets", RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS, timeout: timeout) {
            rd_kafka_AdminOptions_set_require_stable_offsets($0, 1).map { rd_kafka_error_destroy($0) }
            rd_kafka_ListConsumerGroupOffsets(handle.pointer, &requested, 1, $0, $1)
        }
        var count = 0
        let results = rd_kafka_ListConsumerGroupOffsets_result_groups(
            rd_kafka_event_ListConsumerGroupOffsets_result(answer.event), &count)
        var committed: [TopicPartition: CommittedOffset] = [:]
        for result in UnsafeBufferPointer(start: results, count: count) {
            if let error = rd_kafka_group_result_error(result) {
                let text = String(cString: rd_kafka_error_string(error))
                throw handle.error(rd_kafka_error_code(error), text, operation: "list_offsets")
            }
            guard let offsets = rd_kafka_group_result_partitions(result) else { continue }
            for element in UnsafeBufferPointer(start: offsets.pointee.elems, count: Int(offsets.pointee.cnt)) {
                guard element.err == RD_KAFKA_RESP_ERR_NO_ERROR else {
                    throw handle.error(element.err, operation: "list_offsets", partition: element.topicPartition)
                }
                if element.offset < 0 { continue }
                committed[element.topicPartition] = CommittedOffset(
                    offset: Offset(element.offset), metadata: element.metadataString)
            }
        }
        return committed
    }

    /// The names of the consumer groups that the cluster has, dead ones left out.
    ///
    /// Not for the mock cluster, as ``describe(group:timeout:)``.
    public func groups(timeout: Duration = .seconds(30)) throws(KafkaError) -> [String] {
        let answer = try request("list_groups", RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPS, timeout: timeout) {
            rd_kafka_ListConsumerGroups(handle.pointer, $0, $1)
        }
        let result = rd_kafka_event_ListConsumerGroups_result(answer.event)
        var count = 0
        if let errors = rd_kafka_ListConsumerGroups_result_errors(result, &count), count > 0, let first = errors[0] {
            let text = String(cString: rd_kafka_error_string(first))
            throw handle.error(rd_kafka_error_code(first), text, operation: "list_groups")
        }
        guard let listed = rd_kafka_ListConsumerGroups_result_valid(result, &count) else { return [] }
        return (0..<count).compactMap { index in
            guard let group = listed[index] else { return nil }
            return String(cString: rd_kafka_ConsumerGroupListing_group_id(group))
        }
    }

    /// The group's state and its members.
    ///
    /// Not for the mock cluster, which never answers: the call would block this client permanently, its tear-down
    /// included.
    public func describe(group: String, timeout: Duration = .seconds(30)) throws(KafkaError) -> GroupDescription {
        let answer = try request("describe_group", RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS, timeout: timeout) {
            options, queue in
            group.withCString { name in
                var names: [UnsafePointer<CChar>?] = [name]
                rd_kafka_DescribeConsumerGroups(handle.pointer, &names, 1, options, queue)
            }
        }
        var count = 0
        let results = rd_kafka_DescribeConsumerGroups_result_groups(
            rd_kafka_event_DescribeConsumerGroups_result(answer.event), &count)
        guard count > 0, let description = results?[0] else {
            throw handle.error(RD_KAFKA_RESP_ERR__FAIL, operation: "describe_group")
        }
        if let error = rd_kafka_ConsumerGroupDescription_error(description) {
            let text = String(cString: rd_kafka_error_string(error))
            throw handle.error(rd_kafka_error_code(error), text, operation: "describe_group")
        }
        let state = rd_kafka_ConsumerGroupDescription_state(description)
        return GroupDescription(
            group: group, state: String(cString: rd_kafka_consumer_group_state_name(state)),
            members: (0..<rd_kafka_ConsumerGroupDescription_member_count(description)).compactMap { index in
                rd_kafka_ConsumerGroupDescription_member(description, index).map(GroupMember.init)
            })
    }

    /// The cluster's id and its brokers.
    public func cluster(timeout: Duration = .seconds(10)) throws(KafkaError) -> ClusterDescription {
        var answer: UnsafePointer<rd_kafka_metadata>?
        let code = rd_kafka_metadata(handle.pointer, 0, nil, &answer, timeout.milliseconds)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR, let answer else { throw handle.error(code, operation: "cluster") }
        defer { rd_kafka_metadata_destroy(answer) }
        let brokers = UnsafeBufferPointer(start: answer.pointee.brokers, count: Int(answer.pointee.broker_cnt))
        return ClusterDescription(
            clusterID: handle.clusterID(timeout: .zero),
            brokers: brokers.map {
                ClusterDescription.Broker(id: $0.id, host: String(cString: $0.host), port: Int($0.port))
            }.sorted { $0.id < $1.id })
    }
}

extension GroupMember {
    init(_ member: OpaquePointer) {
        memberID = String(cString: rd_kafka_MemberDescription_consumer_id(member))
        instanceID = rd_kafka_MemberDescription_group_instance_id(member).map { String(cString: $0) }
        clientID = String(cString: rd_kafka_MemberDescription_client_id(member))
        host = String(cString: rd_kafka_MemberDescription_host(member))
        let partitions = rd_kafka_MemberAssignment_partitions(rd_kafka_MemberDescription_assignment(member))
        assignment = UnsafeMutablePointer(mutating: partitions)?.partitions.sorted() ?? []
    }
}
