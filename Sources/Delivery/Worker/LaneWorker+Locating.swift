import Deliveries
import KafkaClient
import Pipeline

extension LaneWorker {
    /// What has to be found out before a partition is read.
    struct Search {
        var partitions: [Int32]
        let began = ContinuousClock.now
        /// What the group has, once it has answered, and the high watermarks after that.
        var found: Found?

        init(partitions: [Int32]) {
            self.partitions = partitions
        }

        /// Whether it takes longer than a transaction can be open.
        func isLate(_ context: DeliveryContext) -> Bool {
            .now - began > context.configuration.transactionTimeout + .seconds(10)
        }
    }

    struct Found {
        /// By partition: of the dispatch topic and each retry topic.
        var committed: [Int32: [LaneOffset]] = [:]
        var roles: [Int32: LaneStart.Role] = [:]
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
                    "still waiting for the committed offsets: a transaction of this lane has not ended: \(error)")
            }
        }
    }

    private func topicPartitions(_ partitions: [Int32], from first: Int = 0) -> [TopicPartition] {
        context.streams.dropFirst(first).flatMap { topic in
            partitions.map { TopicPartition(topic: topic, partition: $0) }
        }
    }

    private mutating func find(_ partitions: [Int32]) throws -> Found {
        let topics = topicPartitions(partitions)
        let committed = try consumer.committed(topics, timeout: .seconds(1))
        let count = Int32(try consumer.partitionCount(of: context.streams[0], timeout: .seconds(5)))
        let cut = try LaneCut.read(context.configuration, partitions: partitions, logger)
        core.setPartitions(count)
        var found = Found()
        var firstStarts: [Int32: LaneStart.First] = [:]
        for partition in partitions {
            let offsets = context.streams.map { committed[TopicPartition(topic: $0, partition: partition)] }
            let own = offsets.map { offset in
                offset.flatMap { LaneOffset(offset: $0.offset.value, metadata: $0.metadata) }
            }
            let start = try LaneStart(
                LaneStart.Findings(
                    partition: partition, committed: own,
                    isForeign: zip(offsets, own).contains { $0 != nil && $1 == nil }, partitions: count,
                    lanes: context.lanesHash, cut: cut), lane: name)
            found.roles[partition] = start.role
            if let begins = start.begins {
                firstStarts[partition] = begins
            } else {
                found.committed[partition] = try own.enumerated().map { index, offset throws(PipelineError) in
                    guard let offset else { throw lostOffset(context.streams[index], partition) }
                    return offset
                }
            }
        }
        found.committed.merge(try begin(firstStarts, count: count)) { $1 }
        found.ends = try watermarks(of: topics)
        return found
    }

    private func lostOffset(_ topic: String, _ partition: Int32) -> PipelineError {
        .decisionNeeded(
            "\(topic)/\(partition): the group has no offset of it, and has those of the other topics; remove the group's "
                + "offsets, and start it again with --from")
    }

    /// Where partitions begin that the lane has never committed: the dispatch topic as a person has said, or at the cut,
    /// and the retry topics at their ends, since nothing in them is this lane's.
    private mutating func begin(
        _ starts: [Int32: LaneStart.First], count: Int32
    ) throws -> [Int32: [LaneOffset]] {
        guard !starts.isEmpty else { return [:] }
        let told = starts.filter { $0.value == .asTold }.map(\.key).sorted()
        if !told.isEmpty { try requireNoOthers() }
        let dispatch = try told.isEmpty ? [:] : toldOffsets(of: told)
        let tiers = try consumer.endOffsets(topicPartitions(starts.keys.sorted(), from: 1), timeout: .seconds(10))
        var begun: [Int32: [LaneOffset]] = [:]
        for (partition, start) in starts {
            let first: Int64
            switch start {
            case .at(let offset): first = offset
            case .asTold:
                first = dispatch[TopicPartition(topic: context.streams[0], partition: partition)]?.value ?? 0
            }
            let offsets =
                [first]
                + context.streams.dropFirst().map { tiers[TopicPartition(topic: $0, partition: partition)]?.value ?? 0 }
            begun[partition] = offsets.map {
                LaneOffset(offset: $0, partitions: count, lanes: context.lanesHash, isClean: true, finished: [])
            }
        }
        return begun
    }

    /// Lanes with other names may have sent from here with another map: beginning anywhere but at a cut would send some
    /// records twice and others never.
    private func requireNoOthers() throws {
        let groups = try LaneGroups(context.configuration, logger: logger).groups()
        let others = LaneCutPlan.others(groups, than: context.lanesHash)
        guard others.isEmpty else {
            throw PipelineError.decisionNeeded(
                "lane \(name) has never committed, and these have, with other values of delivery.lanes or delivery.retry: "
                    + "\(others.joined(separator: ", ")); `carillon deliver lanes --cut`, with the new settings, records "
                    + "where they end")
        }
    }

    private mutating func toldOffsets(of partitions: [Int32]) throws -> [TopicPartition: Offset] {
        let topics = partitions.map { TopicPartition(topic: context.streams[0], partition: $0) }
        switch context.start {
        case nil:
            throw PipelineError.decisionNeeded(
                "lane \(name) has no committed offsets in \(partitions.count) partitions: its first start needs --from "
                    + "earliest, latest or a time, or --from-group with the group of the sender that it replaces")
        case .group(let group):
            let other = try Consumer(assigning: context.configuration.kafka, group: group, logger: logger.clientSink)
            let found = try other.committed(topics, timeout: .seconds(5))
            if let missing = topics.first(where: { found[$0] == nil }) {
                throw PipelineError.decisionNeeded("--from-group: the group \(group) has no offset of \(missing)")
            }
            return found.mapValues(\.offset)
        case .position(.earliest): return try consumer.startOffsets(topics, timeout: .seconds(10))
        case .position(.latest): return try consumer.endOffsets(topics, timeout: .seconds(10))
        case .position(.time(let milliseconds)):
            return try consumer.offsets(
                at: Timestamp(milliseconds: milliseconds), of: topics, timeout: .seconds(10))
        }
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
        for topic in context.streams.dropFirst() {
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
        for (partition, offsets) in found.committed where found.roles[partition] != .ended {
            let ends = context.streams.map { found.ends[TopicPartition(topic: $0, partition: partition)]?.value ?? 0 }
            core.assign(partition, committed: offsets, ends: ends)
            for (index, topic) in context.streams.enumerated() {
                let place = TopicPartition(topic: topic, partition: partition)
                positions[place] = Offset(offsets[index].offset)
                guard index > 0, offsets[index].offset < ends[index] else { continue }
                recalls.starts[place] = Offset(offsets[index].offset)
                recalls.ends[place] = Offset(ends[index])
            }
        }
        roles = found.roles
        group = try consumer.groupMetadata()
        // The group may have taken the partitions meanwhile, and given others.
        guard try recall(from: recalls.starts, to: recalls.ends) else { return }
        for partition in core.owned { core.recalled(partition) }
        try consumer.assign(positions)
        phase = .reading
        logger.info("sends \(core.owned.count) partitions", ["ended": "\(roles.values.count { $0 == .ended })"])
    }

    /// Reads the retry topics for what waits, and serves the group meanwhile.
    ///
    /// - Returns: false if the group took the partitions, or the process is to end.
    private mutating func recall(
        from starts: [TopicPartition: Offset], to ends: [TopicPartition: Offset]
    ) throws -> Bool {
        guard !starts.isEmpty else { return true }
        let before = assignments
        var reader = LaneRecordReader(context, lane: name)
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
            let index = context.streams.firstIndex(of: record.topic), index > 0
        else { return }
        guard case .own(let own, let note?) = reader.read(record, headers, from: .tier(index - 1)) else { return }
        if case .new(let start) = roles[record.partition], note.offset < start { return }
        core.recall(
            note.offset, of: record.partition, tier: index - 1, at: record.offset, device: own.device)
    }
}

/// The partitions were taken away while the retry topics were read.
private struct RecallEnded: Error {}
