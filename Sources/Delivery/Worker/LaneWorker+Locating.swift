import KafkaClient
import Notifications
import Pipeline

extension LaneWorker {
    /// What has to be found out before a partition is read.
    struct Search {
        var partitions: [Int32]
        let began = ContinuousClock.now
        /// What the group has, once it has answered, and the high watermarks after that.
        var found: Found?

        /// Whether it takes longer than a transaction can be open.
        func isLate(_ context: DeliveryContext) -> Bool {
            .now - began > context.configuration.transactionTimeout + .seconds(10)
        }
    }

    struct Found {
        /// By partition, of each topic.
        var committed: [Int32: [LaneOffset]] = [:]
        /// By topic and partition.
        var ends: [TopicPartition: Offset] = [:]
    }

    /// Finds out where the partitions begin and what waits in their retry topics, step by step.
    mutating func locate() throws {
        guard case .locating(var search) = phase else { return }
        do {
            if search.found == nil {
                search.found = try find(search.partitions)
                guard case .locating = phase else { return }
                phase = .locating(search)
            }
            guard let found = search.found else { return }
            guard try isStable(found) else {
                if search.isLate(context), patience.isDue("stable") {
                    logger.warning(
                        "still waiting for a transaction in a retry topic to end: `kafka-transactions.sh find-hanging` "
                            + "finds one that never does")
                }
                return
            }
            try start(found)
        } catch let error as KafkaError where error.recovery == .retry {
            if search.isLate(context), patience.isDue("committed") {
                logger.warning(
                    "still waiting for the committed offsets: a transaction of the sender has not ended: \(error)")
            }
        }
    }

    func topicPartitions(_ streams: [LaneStream], _ partitions: [Int32]) -> [TopicPartition] {
        streams.flatMap { stream in
            partitions.map { TopicPartition(topic: context.topic(stream), partition: $0) }
        }
    }

    private mutating func find(_ partitions: [Int32]) throws -> Found {
        let topics = topicPartitions(context.streams, partitions)
        let committed = try consumer.committed(topics, timeout: .seconds(1))
        let count = Int32(try consumer.partitionCount(of: context.topics[0], timeout: .seconds(5)))
        core.setPartitions(count)
        var found = Found()
        var starts: [Int32: LaneStart] = [:]
        for partition in partitions {
            starts[partition] = try LaneStart(
                context.topics.map { committed[TopicPartition(topic: $0, partition: partition)] }, of: partition,
                partitions: count, provider: provider)
        }
        let begun = try begin(starts.filter { $0.value.isFirst }.map(\.key).sorted())
            .merging(try beginBroadcasts(starts)) { $1 }
        for (partition, start) in starts {
            found.committed[partition] = try context.streams.map { stream throws(PipelineError) in
                let place = TopicPartition(topic: context.topic(stream), partition: partition)
                let isFirst = stream.kind == .orders && start.isFirst
                if !isFirst, let offset = start.committed[context.place(stream)] { return offset }
                guard let offset = begun[place] else { throw lostOffset(place) }
                return LaneOffset(offset: offset.value, partitions: count)
            }
        }
        found.ends = try watermarks(of: topics)
        return found
    }

    private func lostOffset(_ place: TopicPartition) -> PipelineError {
        .decisionNeeded(
            "\(place): the group has no offset of it, and has those of the other topics; remove the group's "
                + "offsets, and start it again with --from")
    }

    /// The high watermarks: beyond the last stable offset there may be what a predecessor has written and not ended.
    private func watermarks(of topics: [TopicPartition]) throws(KafkaError) -> [TopicPartition: Offset] {
        var settings = context.configuration.kafka
        settings["isolation.level"] = "read_uncommitted"
        let reader = try Consumer(assigning: settings, logger: logger.clientSink)
        var ends: [TopicPartition: Offset] = [:]
        for (_, group) in Dictionary(grouping: topics, by: \.topic) {
            ends.merge(try reader.endOffsets(group, timeout: .seconds(10))) { $1 }
        }
        return ends
    }

    /// Whether everything below the ends of the retry topics is committed or aborted.
    private func isStable(_ found: Found) throws(KafkaError) -> Bool {
        for stream in context.streams where stream.tier != nil {
            let topic = context.topic(stream)
            let partitions = found.ends.keys.filter { $0.topic == topic }
            let stable = try consumer.endOffsets(partitions, timeout: .seconds(5))
            for partition in partitions {
                if let end = found.ends[partition], (stable[partition] ?? Offset(0)) < end { return false }
            }
        }
        return true
    }

    /// Recalls what waits in the retry topics, and begins to read.
    private mutating func start(_ found: Found) throws {
        var positions: [TopicPartition: Offset] = [:]
        var recalls: (starts: [TopicPartition: Offset], ends: [TopicPartition: Offset]) = ([:], [:])
        for (partition, offsets) in found.committed {
            let ends = context.topics.map { found.ends[TopicPartition(topic: $0, partition: partition)]?.value ?? 0 }
            core.assign(partition, committed: offsets, ends: ends)
            for (index, stream) in context.streams.enumerated() {
                let place = TopicPartition(topic: context.topics[index], partition: partition)
                positions[place] = Offset(offsets[index].offset)
                guard stream.tier != nil, offsets[index].offset < ends[index] else { continue }
                recalls.starts[place] = Offset(offsets[index].offset)
                recalls.ends[place] = Offset(ends[index])
            }
        }
        group = try consumer.groupMetadata()
        // The group may have taken the partitions meanwhile, and given others.
        guard try recall(from: recalls.starts, to: recalls.ends) else { return }
        for partition in core.owned { core.recalled(partition) }
        try consumer.assign(positions)
        intake.share(among: core.owned.count)
        phase = .reading
        logger.info("sends \(core.owned.count) partitions")
    }

    /// Reads the retry topics for what waits, and serves the group meanwhile.
    ///
    /// - Returns: false if the group took the partitions, or the process is to end.
    private mutating func recall(
        from starts: [TopicPartition: Offset], to ends: [TopicPartition: Offset]
    ) throws -> Bool {
        guard !starts.isEmpty else { return true }
        let before = assignments
        var reader = LaneRecordReader(context, provider)
        var recaller = try Consumer(assigning: context.configuration.kafka, logger: logger.clientSink)
        var nextService = ContinuousClock.now
        do {
            try TopicReader.read(from: starts, to: ends, with: &recaller) { batch in
                for index in 0..<batch.count { recall(batch[index], batch.headers, &reader, below: ends) }
                guard .now >= nextService else { return }
                nextService = .now + .milliseconds(200)
                try serveControl()
                guard case .locating = phase, assignments == before, !context.mustEnd else { throw RecallEnded() }
            }
            return true
        } catch is RecallEnded {
            return false
        }
    }

    private mutating func recall(
        _ record: RecordView, _ headers: [HeaderView], _ reader: inout LaneRecordReader,
        below ends: [TopicPartition: Offset]
    ) {
        let place = TopicPartition(topic: record.topic, partition: record.partition)
        guard let end = ends[place], record.offset < end.value,
            let stream = context.stream(of: record.topic), stream.tier != nil
        else { return }
        guard case .own(let own, let note?) = reader.read(record, headers, from: stream) else { return }
        core.recall(note.offset, of: record.partition, stream, at: record.offset, device: own.device)
    }
}

/// The partitions were taken away while the retry topics were read.
private struct RecallEnded: Error {}
