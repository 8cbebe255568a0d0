import Hosting
import KafkaClient
import Notifications
import Pipeline
import Streaming

extension LaneTenant {
    /// Says where the partitions begin, and what of their retry topics is recalled first.
    mutating func locate(_ found: inout Findings, _ member: inout any MemberClient & ~Copyable) throws -> Locating {
        try checkTopics(of: found.partitions)
        let count = found.partitionCounts[context.topics[0]] ?? 0
        core.setPartitions(count)
        var starts: [Int32: LaneStart] = [:]
        for topicPartition in found.partitions where topicPartition.topic == context.topics[0] {
            starts[topicPartition.partition] = try LaneStart(
                context.topics.map { found.committed[TopicPartition(topic: $0, partition: topicPartition.partition)] },
                of: topicPartition.partition, partitions: count, provider: provider)
        }
        let begun = try begin(starts, found)
        var located: [TopicPartition: Start] = [:]
        for (partition, start) in starts {
            let own = context.topics.map { TopicPartition(topic: $0, partition: partition) }
            let committed = try context.streams.enumerated().map { index, stream throws(PipelineError) in
                let isFirst = stream.kind == .orders && start.isFirst
                if !isFirst, let offset = start.committed[index] { return offset }
                guard let offset = begun[own[index]] else { throw lostOffset(own[index]) }
                return LaneOffset(offset: offset.value, partitions: count)
            }
            let ends = own.map { found.highs[$0]?.value ?? 0 }
            core.assign(partition, committed: committed, ends: ends)
            for (index, stream) in context.streams.enumerated() {
                let offset = committed[index].offset
                let recalled = stream.tier == nil ? offset : ends[index]
                located[own[index]] = Start(Offset(offset), restores: offset, upTo: recalled)
                recalls[own[index]] = recalled
            }
        }
        intake.share(among: core.owned.count)
        return .starts(located)
    }

    /// Retries of a partition have to come to whoever sends the partition.
    private func checkTopics(of partitions: [TopicPartition]) throws(PipelineError) {
        let byTopic = Dictionary(grouping: partitions, by: \.topic).mapValues { Set($0.map(\.partition)) }
        for topic in context.topics.dropFirst() where byTopic[topic] != byTopic[context.topics[0]] {
            throw .decisionNeeded(
                "\(topic) and \(context.topics[0]) do not have the same partitions: `carillon topics check` says more")
        }
    }

    private func lostOffset(_ topicPartition: TopicPartition) -> PipelineError {
        .decisionNeeded(
            "\(topicPartition): the group has no offset of it, and has those of the other topics; remove the group's "
                + "offsets, and start it again with --from")
    }

    // MARK: Without a commit

    /// Where partitions begin that the lane has never committed: the dispatch topic as a person has said, broadcasts with
    /// the first that there is, and nobody has to say so; the retry topics at their ends, since nothing in them is this
    /// lane's.
    private func begin(_ starts: [Int32: LaneStart], _ found: Findings) throws -> [TopicPartition: Offset] {
        let first = starts.filter(\.value.isFirst).map(\.key).sorted()
        var begun = try first.isEmpty ? [:] : toldOffsets(of: first, found.starts)
        for (index, stream) in context.streams.enumerated() {
            for (partition, start) in starts {
                let topicPartition = TopicPartition(topic: context.topics[index], partition: partition)
                switch stream {
                case .dispatch(.orders): continue
                case .tier(.orders, _): if start.isFirst { begun[topicPartition] = found.ends[topicPartition] }
                case .dispatch(.broadcasts):
                    if start.committed[index] == nil { begun[topicPartition] = found.starts[topicPartition] }
                case .tier(.broadcasts, _):
                    if start.committed[context.topicIndex(.dispatch(.broadcasts))] == nil {
                        begun[topicPartition] = found.ends[topicPartition]
                    }
                }
            }
        }
        return begun
    }

    /// - Parameter starts: of the topics' logs.
    func toldOffsets(of partitions: [Int32], _ starts: [TopicPartition: Offset]) throws -> [TopicPartition: Offset] {
        let topics = partitions.map { TopicPartition(topic: context.topics[0], partition: $0) }
        let kafka = context.configuration.kafka
        switch context.start {
        case nil:
            // What has been written since then no other sender can have sent.
            if wasEmpty { return starts.filter { topics.contains($0.key) } }
            throw PipelineError.decisionNeeded(
                "\(provider.rawValue) has no committed offsets in \(partitions.count) partitions: its first start needs --from "
                    + "earliest, latest or a time, or --from-group with the group of the sender that it replaces")
        case .group(let group):
            let other = try Consumer(assigning: kafka, group: group, logger: logger.clientSink)
            let found = try other.committed(topics, timeout: .seconds(5))
            if let missing = topics.first(where: { found[$0] == nil }) {
                throw PipelineError.decisionNeeded("--from-group: the group \(group) has no offset of \(missing)")
            }
            return found.mapValues(\.offset)
        case .position(let position):
            let reader = try Consumer(assigning: kafka, logger: logger.clientSink)
            return try reader.offsets(at: position, of: topics, timeout: .seconds(10))
        }
    }

    // MARK: What waits in retry topics

    /// Recalls what waits in the retry topics.
    mutating func restore(_ batch: borrowing RecordBatch) {
        for index in 0..<batch.count {
            let record = batch[index]
            let topicPartition = TopicPartition(topic: record.topic, partition: record.partition)
            guard record.offset < recalls[topicPartition] ?? 0, let stream = context.stream(of: record.topic),
                stream.tier != nil,
                case .own(let own, let note?) = intake.read(record, batch.headers, of: stream)
            else { continue }
            core.recall(note.offset, of: record.partition, stream, at: record.offset, device: own.device)
        }
    }

    mutating func restored() {
        recalls.removeAll()
        for partition in core.owned { core.recalled(partition) }
        logger.info("sends \(core.owned.count) partitions")
    }

    // MARK: Topics

    /// - Returns: whether the dispatch topic is empty.
    static func waitForTopics(_ context: SenderContext, _ patience: Patience, _ logger: Logger) throws -> Bool {
        var consumer = try Consumer(assigning: context.configuration.kafka, logger: logger.clientSink)
        return try context.host.untilItWorks(logger, patience) { () throws(KafkaError) in
            let counts = try consumer.partitionCounts(of: context.topics + [context.configuration.topics.deliveries])
            for (topic, count) in counts.sorted(by: { $0.key < $1.key }) where count != counts[context.topics[0]] {
                throw .wrongPartitions(topic, count, context.topics[0], counts[context.topics[0]] ?? 0)
            }
            let dispatch = try consumer.partitions(of: context.topics[0], timeout: .seconds(3))
            return try consumer.startOffsets(dispatch, timeout: .seconds(3))
                == consumer.endOffsets(dispatch, timeout: .seconds(3))
        }
    }
}

extension KafkaError {
    fileprivate static func wrongPartitions(_ topic: String, _ count: Int, _ dispatch: String, _ other: Int)
        -> KafkaError
    {
        KafkaError(
            kind: .configuration, recovery: .giveUp, name: "",
            message:
                "\(topic) has \(count) partitions and \(dispatch) \(other): they must be as many, since a push's retries and "
                + "its outcome are in the partition of the same number")
    }
}
