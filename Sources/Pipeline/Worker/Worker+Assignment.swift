import KafkaClient
import Streaming

extension Worker {
    /// Serves the group's events and the producer's delivery reports.
    mutating func serveControl(timeout: Duration) throws {
        try serveGroup(timeout: timeout)
        output.poll()
        try considerErrors(output.takeErrors())
    }

    /// Serves the group's events: assignments, revocations, errors, statistics.
    mutating func serveGroup(timeout: Duration) throws {
        var patience = timeout
        while let event = consumer.nextEvent(timeout: patience) {
            patience = .zero
            switch event {
            case .assign(let partitions): try startAssignment(partitions)
            case .revoke(_, let isLost): try revoke(isLost: isLost)
            case .error(let error): try considerErrors([error])
            case .statistics(let statistics): observe(statistics)
            }
        }
    }

    /// The lag counts from what was processed here: the client's own figure ignores commits in transactions.
    private mutating func observe(_ statistics: ClientStatistics) {
        if statistics.isConnected { context.host.health.brokersAreDown(nil, of: slot.label) }
        var lag: [SourcePartition: Int] = [:]
        var newest: [SourcePartition: WallTime] = [:]
        for each in statistics.partitions {
            guard let partition = context.configuration.topics.sourcePartition(of: each.partition),
                let position = assignment.positions[partition], let end = each.lastStableOffset
            else { continue }
            lag[partition] = Int(max(0, end.value - position.reached))
            newest[partition] = end.value > position.reached ? position.newestTimestamp : nil
            guard let watermark = each.highWatermark,
                health.hungTransactions.observe(
                    partition: each.partition, lastStable: end.value, highWatermark: watermark.value)
            else { continue }
            logger.warning(
                "a transaction upstream has been open for more than a minute: nothing after it can be read",
                ["partition": "\(each.partition)", "open_since_offset": "\(end)", "high_watermark": "\(watermark)"])
        }
        guard !lag.isEmpty else { return }
        context.meter.setWaiting(newest, clock: context.clock, worker: slot.number)
        let hung = health.hungTransactions.hung.compactMap(context.configuration.topics.sourcePartition)
        context.meter.setLag(
            lag, hungTransactions: Dictionary(grouping: hung, by: \.source).mapValues(\.count), worker: slot.number)
    }

    private mutating func startAssignment(_ partitions: [TopicPartition]) throws {
        logger.info("assigned \(partitions.count) partitions", ["partitions": partitions.list])
        health.refusal = nil
        let ours = partitions.compactMap(context.configuration.topics.sourcePartition)
        assignment.assigned(ours, barrier: context.gate.requestBarrier(), now: .now)
        showPhase()
        // An unanswered assignment would block the whole group until the committed offsets are known.
        try consumer.assign([:])
    }

    /// Commits the open transaction, then releases the partitions; if they are lost, it is dropped (docs/kafka.md 8).
    private mutating func revoke(isLost: Bool) throws {
        if isLost { health.fencings.noteLostContact() }
        logger.info(
            isLost ? "lost its partitions" : "gives its partitions back",
            ["partitions": assignment.positions.owned.map(context.configuration.topics.topicPartition).list])
        do {
            try context.reach(.inRevoke, worker: slot.number)
            if !isLost { try commit() }
        } catch let error as KafkaError {
            logger.warning("could not commit before the partitions were revoked: \(error)")
            try endTransaction(after: error)
        }
        try discardTransaction()
        try releaseAssignment()
    }

    mutating func releaseAssignment() throws {
        noteFolds()
        assignment.released()
        forgetHolds()
        ticks.removeAll()
        transaction.forgetRefusals()
        health.hungTransactions = HungTransactionWatch()
        showPhase()
        context.meter.setPartitions(0, worker: slot.number)
        try consumer.unassign()
    }

    /// Goes back to the committed offsets of the partitions that are owned (docs/kafka.md 6).
    mutating func rewind() {
        noteFolds()
        ticks.removeAll()
        switch assignment.rewound(now: .now) {
        case .nothing: break
        case .locate: showPhase()
        }
    }

    /// The same where the log no longer has the next offset of a partition: librdkafka has stopped reading it and
    /// cannot seek in it (2.0.2 answers `_STATE`). All are unassigned, and assigned again once the committed offsets
    /// are known.
    mutating func rewindFromOutOfRange() throws {
        rewind()
        try consumer.unassign()
        assignment.stoppedReading()
    }

    func showPhase() { context.board.set(assignment.readiness, worker: slot.number) }

    /// Queries the committed offsets and starts reading there, once they are known.
    ///
    /// Outside any callback and with a short timeout, since the answer waits for a dead predecessor's open transaction
    /// (docs/kafka.md 8). Until then nothing is read.
    mutating func advanceAssignment() throws {
        guard let search = assignment.search else { return }
        do {
            try startReading(search)
        } catch let error as KafkaError where error.recovery == .retry {
            let limit = context.configuration.transactionTimeout + .seconds(10)
            if try assignment.unanswered(longerThan: limit, now: .now), context.patience.isDue("committed") {
                logger.warning(
                    "still waiting for the committed offsets: a transaction that wrote offsets of this group has not ended: \(error)"
                )
            }
        }
    }

    private mutating func startReading(_ search: WorkerAssignment.Search) throws {
        let topics = context.configuration.topics
        let partitions = narrow(search)
        guard !partitions.isEmpty else { return try readNothing() }
        var starts = try startOffsets(of: partitions)
        let log = try checkRange(&starts)
        let counts = try partitionCounts(of: partitions)
        let checked = try StartRules.check(
            starts, partitionCounts: counts, topics: topics, now: context.clock.now())
        let orders = checked.positions.of(.orders)
        try prepareOrders(orders, log: log)
        boundFolds(orders)
        assignment.group = try consumer.groupMetadata()
        switch try assignment.located(checked.positions, folds: folds.offsets, partitionCounts: counts) {
        case .assign(let offsets):
            let offsets = offsets.of(topics)
            guard mayRead(offsets, log) else { return assignment.mustBegin(now: .now) }
            try consumer.assign(offsets)
        case .seek(let offsets): try consumer.seek(to: offsets.of(topics), timeout: .seconds(5))
        }
        let whole = try assignment.started(now: .now)
        context.meter.setPartitions(search.partitions.count, worker: slot.number)
        considerWatermarks(orders, isRewind: search.isRewind)
        beginRefold(whole: whole)
        for source in context.sources { health.watches[source, default: ConsumerWatch()].progressed() }
        reportReset(checked.reset)
        for line in StartRules.changedCounts(checked.positions, partitionCounts: counts, topics: topics) {
            if context.patience.isDue(line) { logger.notice("\(line)") }
        }
    }

    /// Warns of watermarks that are ahead of the clock: their partitions' timers that are due before them are not sent.
    private func considerWatermarks(_ positions: [Int32: CommittedPosition], isRewind: Bool) {
        guard context.configuration.orders.schedule != nil else { return }
        context.meter.setWatermarks(positions.mapValues(\.metadata), clock: context.clock, worker: slot.number)
        let ahead = StartRules.aheadWatermarks(positions, now: context.clock.now())
        guard !ahead.isEmpty, !isRewind else { return }
        logger.warning(
            "the timer watermark is ahead of the clock and of every record: the timers of these partitions that are due "
                + "before it are not sent; see `carillon offsets set --watermark`",
            [
                "ahead": ahead.sorted { $0.key < $1.key }
                    .map { "\($0.key): \($0.value / 1_000) s" }.joined(separator: ", ")
            ])
    }

    /// The committed offsets, and `--from` for the partitions that have none: committed at once, before any record
    /// (docs/code.md §6, "Where a group starts").
    private mutating func startOffsets(
        of partitions: [SourcePartition]
    ) throws -> [SourcePartition: CommittedOffset] {
        let topics = context.configuration.topics
        var starts: [SourcePartition: CommittedOffset] = [:]
        for (id, start) in try consumer.committed(partitions.map(topics.topicPartition), timeout: .seconds(1)) {
            if let partition = topics.sourcePartition(of: id) { starts[partition] = start }
        }
        let (configuration, now) = (context.configuration, context.clock.now())
        starts.merge(try beginEmpty(partitions.filter { starts[$0] == nil })) { _, new in new }
        let action = try assignment.answered(Set(starts.keys)) {
            StartRules.start(of: $0, configuration, now: now)
        }
        switch action {
        case .locate: break
        case .refuse(let missing):
            throw StartRules.noStart(
                missing.map(topics.topicPartition), group: context.configuration.groupID)
        case .begin(let missing):
            for source in context.sources {
                let ours = missing.filter { $0.key.source == source }
                guard let start = ours.values.first else { continue }
                starts.merge(try begin(ours.keys.sorted(), of: source, at: start)) { _, new in new }
            }
        }
        return starts
    }

    /// Begins the partitions of which nobody has to say where: `--from` is missing, and the log has nothing, so that every
    /// answer would mean the same.
    private mutating func beginEmpty(
        _ missing: [SourcePartition]
    ) throws -> [SourcePartition: CommittedOffset] {
        let (topics, now) = (context.configuration.topics, context.clock.now())
        let unsaid = missing.filter { StartRules.start(of: $0.source, context.configuration, now: now) == nil }
        guard !unsaid.isEmpty else { return [:] }
        let ids = unsaid.map(topics.topicPartition)
        let log = LogBounds(
            first: try consumer.startOffsets(ids, timeout: .seconds(5)),
            end: try consumer.endOffsets(ids, timeout: .seconds(5)))
        var starts: [SourcePartition: CommittedOffset] = [:]
        for source in context.sources {
            let empty = unsaid.filter { $0.source == source && log.isEmpty(topics.topicPartition(of: $0)) }
            guard !empty.isEmpty else { continue }
            starts.merge(try begin(empty, of: source, at: .earliest)) { _, new in new }
        }
        return starts
    }

    private mutating func begin(
        _ missing: [SourcePartition], of source: SourceKind, at start: PipelineConfiguration.StartPosition
    ) throws -> [SourcePartition: CommittedOffset] {
        let topics = context.configuration.topics
        let missing = missing.map(topics.topicPartition)
        let count = try partitionCount(of: source)
        let offsets = try consumer.offsets(at: start, of: missing, timeout: .seconds(5))
        let metadata = StartRules.metadata(of: source, partitionCount: count, now: context.clock.now()).text
        let new = offsets.mapValues { CommittedOffset(offset: $0, metadata: metadata) }
        try consumer.commit(new, timeout: .seconds(5))
        logger.info("starts \(missing.count) partitions that had no committed offset", ["partitions": missing.list])
        return Dictionary(uniqueKeysWithValues: new.map { (SourcePartition(source, $0.key.partition), $0.value) })
    }

    private func partitionCounts(of partitions: [SourcePartition]) throws -> [SourceKind: Int32] {
        var counts: [SourceKind: Int32] = [:]
        for source in Set(partitions.map(\.source)) { counts[source] = try partitionCount(of: source) }
        return counts
    }

    private func partitionCount(of source: SourceKind) throws(KafkaError) -> Int32 {
        Int32(try consumer.partitionCount(of: context.configuration.topics.topic(of: source), timeout: .seconds(5)))
    }

    /// Only an operator can decide about an offset of the orders outside the log: the error says what was lost, and
    /// nothing is skipped. Requests begin again, with a warning.
    ///
    /// - Returns: what the log has of these partitions.
    private mutating func checkRange(_ starts: inout [SourcePartition: CommittedOffset]) throws -> LogBounds {
        let topics = context.configuration.topics
        let partitions = starts.keys.map(topics.topicPartition)
        let log = LogBounds(
            first: try consumer.startOffsets(partitions, timeout: .seconds(5)),
            end: try consumer.endOffsets(partitions, timeout: .seconds(5)))
        for (source, start) in starts.sorted(by: { $0.key < $1.key }) {
            let partition = topics.topicPartition(of: source)
            guard let first = log.first[partition], let end = log.end[partition] else { continue }
            switch source.source {
            case .orders:
                if let problem = StartRules.rangeProblem(partition, committed: start.offset, first: first, end: end) {
                    throw problem
                }
            case .requests:
                let lost = StartRules.lostRequests(partition, committed: start.offset, first: first, end: end)
                if let lost { try beginAgain(source, because: lost, &starts) }
            }
        }
        return log
    }

    private mutating func beginAgain(
        _ partition: SourcePartition, because reason: String, _ starts: inout [SourcePartition: CommittedOffset]
    ) throws {
        logger.warning("offset out of range: \(reason); it begins as requests.from says")
        let start = StartRules.start(of: partition.source, context.configuration, now: context.clock.now())
        guard let start else { return }
        starts.merge(try begin([partition], of: partition.source, at: start)) { _, new in new }
    }

    private func reportReset(_ reset: [SourcePartition]) {
        guard !reset.isEmpty else { return }
        let partitions = reset.map(context.configuration.topics.topicPartition)
        logger.warning(
            "committed offsets have no readable watermark (were they reset by hand?): timers count from now",
            ["partitions": partitions.list])
        context.meter.count { $0.missingWatermarks += partitions.count }
    }
}

extension [Int32] {
    /// As partitions of a topic.
    func of(_ topic: String) -> [TopicPartition] {
        map { TopicPartition(topic: topic, partition: $0) }
    }
}

extension [SourcePartition: Int64] {
    fileprivate func of(_ topics: PipelineConfiguration.Topics) -> [TopicPartition: Offset] {
        [TopicPartition: Offset](uniqueKeysWithValues: map { (topics.topicPartition(of: $0), Offset($1)) })
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

extension [TopicPartition] {
    /// `0, 1, 5`
    var list: String { map { String($0.partition) }.joined(separator: ", ") }
}
