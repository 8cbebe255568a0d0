import KafkaClient
import Streaming

extension PipelineTenant {
    mutating func locate(_ found: inout Findings, _ member: inout any MemberClient & ~Copyable) throws -> Locating {
        let topics = context.configuration.topics
        let now = context.clock.now()
        let log = LogBounds(first: found.starts, end: found.ends)
        var counts: [SourceKind: Int32] = [:]
        for source in context.sources { counts[source] = found.partitionCounts[topics.topic(of: source)] }
        hasPartitions = !found.partitions.isEmpty
        // Without the partitions that may not be read now.
        let readable = context.holds.enter(reader, found.partitions)
        let starts = try starts(
            of: found.partitions.filter(readable.contains).compactMap(topics.sourcePartition), &found, log, counts,
            now: now, &member)
        let checked = try StartRules.check(starts, partitionCounts: counts, topics: topics, now: now)
        for source in context.sources { try prepareStates(of: source, checked.positions.of(source), log: log, &member) }
        positions.assign(checked.positions, folds: folds.offsets, partitionCounts: counts)
        var located: [TopicPartition: Start] = [:]
        for partition in positions.owned {
            // What is below the committed offset is folded by the consumer that goes on reading.
            let offset = positions[partition]?.folded ?? 0
            located[topics.topicPartition(of: partition)] = Start(Offset(offset), restores: offset, upTo: offset)
        }
        let offsets = located.mapValues(\.offset.value)
        guard context.holds.take(reader, offsets, ends: log.end.mapValues(\.value), logger) else { return .later }
        context.meter.setPartitions(found.partitions.count, worker: slot.number)
        considerWatermarks(checked.positions.of(.orders), now: now)
        beginRefold()
        reportReset(checked.reset)
        for line in StartRules.changedCounts(checked.positions, partitionCounts: counts, topics: topics) {
            if context.patience.isDue(line) { logger.notice("\(line)") }
        }
        return .starts(located)
    }

    /// Nothing is read beside the consumer.
    mutating func restore(_ batch: borrowing RecordBatch) {}
    mutating func restored() {}

    /// The committed offsets. Partitions that have none begin where ``StartRules`` say, which is committed at once, before
    /// any record is read (docs/code.md §6, "Where a group starts").
    ///
    /// Only an operator can decide about an offset of the orders outside the log: the error says what was lost, and nothing
    /// is skipped. Requests begin again, with a warning.
    private mutating func starts(
        of partitions: [SourcePartition], _ found: inout Findings, _ log: LogBounds, _ counts: [SourceKind: Int32],
        now: WallTime, _ member: inout any MemberClient & ~Copyable
    ) throws -> [SourcePartition: CommittedOffset] {
        let (configuration, topics) = (context.configuration, context.configuration.topics)
        var starts: [SourcePartition: CommittedOffset] = [:]
        var beginnings: [SourcePartition: StartRules.StartPosition] = [:]
        for partition in partitions.sorted() {
            let topicPartition = topics.topicPartition(of: partition)
            let start = StartRules.start(of: partition.source, configuration, now: now)
            guard let committed = found.committed[topicPartition] else {
                // Where the log has nothing, nobody has to say where: every answer would mean the same.
                beginnings[partition] = start ?? (log.isEmpty(topicPartition) ? .earliest : nil)
                continue
            }
            starts[partition] = committed
            guard let first = log.first[topicPartition], let end = log.end[topicPartition] else { continue }
            switch partition.source {
            case .orders:
                if let problem = StartRules.rangeProblem(
                    topicPartition, committed: committed.offset, first: first, end: end)
                {
                    throw problem
                }
            case .requests:
                let lost = StartRules.lostRequests(topicPartition, committed: committed.offset, first: first, end: end)
                guard let lost else { continue }
                logger.warning("offset out of range: \(lost); it begins as requests.from says")
                // They may be of another log.
                folds.requests.offsets[partition.number] = nil
                beginnings[partition] = start
            }
        }
        let missing = partitions.filter { starts[$0] == nil && beginnings[$0] == nil }
        guard missing.isEmpty else {
            throw StartRules.noStart(missing.map(topics.topicPartition), group: configuration.groupID)
        }
        for source in context.sources {
            let ours = beginnings.filter { $0.key.source == source }
            guard !ours.isEmpty else { continue }
            let metadata = StartRules.metadata(of: source, partitionCount: counts[source] ?? 0, now: now).text
            let begun = try offsets(at: ours, log, &member).mapValues {
                CommittedOffset(offset: $0, metadata: metadata)
            }
            try member.commit(begun, timeout: .seconds(5))
            logger.info(
                "starts \(begun.count) partitions that had no committed offset",
                ["partitions": begun.keys.sorted().map { "\($0.partition)" }.joined(separator: ", ")])
            found.committed.merge(begun) { $1 }
            for (topicPartition, offset) in begun { starts[SourcePartition(source, topicPartition.partition)] = offset }
        }
        return starts
    }

    private func offsets(
        at starts: [SourcePartition: StartRules.StartPosition], _ log: LogBounds,
        _ member: inout any MemberClient & ~Copyable
    ) throws(KafkaError) -> [TopicPartition: Offset] {
        var offsets: [TopicPartition: Offset] = [:]
        var times: [TopicPartition: WallTime] = [:]
        for (partition, start) in starts {
            let topicPartition = context.configuration.topics.topicPartition(of: partition)
            switch start {
            case .earliest: offsets[topicPartition] = log.first[topicPartition]
            case .latest: offsets[topicPartition] = log.end[topicPartition]
            case .time(let time): times[topicPartition] = time
            }
        }
        if !times.isEmpty { offsets.merge(try member.offsets(at: times, timeout: .seconds(5))) { $1 } }
        return offsets
    }

    /// Warns of watermarks that are ahead of the clock: their partitions' timers that are due before them are not sent.
    private func considerWatermarks(_ positions: [Int32: CommittedPosition], now: WallTime) {
        guard context.configuration.orders.schedule != nil else { return }
        context.meter.setWatermarks(positions.mapValues(\.metadata), clock: context.clock, worker: slot.number)
        let ahead = StartRules.aheadWatermarks(positions, now: now)
        guard !ahead.isEmpty else { return }
        logger.warning(
            "the timer watermark is ahead of the clock and of every record: the timers of these partitions that are due "
                + "before it are not sent; see `carillon offsets set --watermark`",
            [
                "ahead": ahead.sorted { $0.key < $1.key }
                    .map { "\($0.key): \($0.value / 1_000) s" }.joined(separator: ", ")
            ])
    }

    private func reportReset(_ reset: [SourcePartition]) {
        guard !reset.isEmpty else { return }
        logger.warning(
            "committed offsets have no readable watermark (were they reset by hand?): timers count from now",
            ["partitions": reset.map { "\($0.number)" }.joined(separator: ", ")])
        context.meter.count { $0.missingWatermarks += reset.count }
    }
}

extension [SourcePartition: CommittedPosition] {
    /// Those of one source.
    fileprivate func of(_ source: SourceKind) -> [Int32: CommittedPosition] {
        var ours: [Int32: CommittedPosition] = [:]
        for (partition, position) in self where partition.source == source { ours[partition.number] = position }
        return ours
    }
}
