import KafkaClient

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
        if statistics.brokers.contains(where: { $0.state == "UP" }) {
            context.board.brokersAreDown(nil, worker: slot.number)
        }
        var lag: [Int32: Int] = [:]
        for each in statistics.partitions {
            guard let position = assignment.positions[each.partition.partition], let end = each.lastStableOffset else {
                continue
            }
            lag[each.partition.partition] = Int(max(0, end.value - position.reached))
            guard let watermark = each.highWatermark,
                health.hungTransactions.observe(
                    partition: each.partition.partition, lastStable: end.value, highWatermark: watermark.value)
            else { continue }
            logger.warning(
                "a transaction upstream has been open for more than a minute: nothing after it can be read",
                ["partition": "\(each.partition)", "open_since_offset": "\(end)", "high_watermark": "\(watermark)"])
        }
        guard !lag.isEmpty else { return }
        context.meter.setLag(lag, hungTransactions: health.hungTransactions.hung.count, worker: slot.number)
    }

    private mutating func startAssignment(_ partitions: [TopicPartition]) throws {
        logger.info("assigned \(partitions.count) partitions", ["partitions": partitions.list])
        health.refusal = nil
        assignment.assigned(partitions.map(\.partition), barrier: context.gate.requestBarrier(), now: .now)
        showPhase()
        // An unanswered assignment would block the whole group until the committed offsets are known.
        try consumer.assign([:])
    }

    /// Commits the open transaction, then releases the partitions; if they are lost, it is dropped (docs/kafka.md 8).
    private mutating func revoke(isLost: Bool) throws {
        if isLost { health.fencings.noteLostContact() }
        logger.info(
            isLost ? "lost its partitions" : "gives its partitions back",
            ["partitions": "\(assignment.positions.owned)"])
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

    private mutating func startReading(_ search: AssignmentMachine.Search) throws {
        let topic = context.configuration.topics.events
        let starts = try startOffsets(of: search.partitions.of(topic))
        let count = try Int32(consumer.partitionCount(of: topic, timeout: .seconds(5)))
        let checked = try StartRules.check(starts, partitionCount: count, now: context.clock.now())
        try prepareOrders(checked.positions, log: try checkRange(starts))
        assignment.group = try consumer.groupMetadata()
        switch try assignment.located(checked.positions, folds: folds.offsets, partitionCount: count) {
        case .assign(let offsets): try consumer.assign(offsets.of(topic))
        case .seek(let offsets): try consumer.seek(to: offsets.of(topic), timeout: .seconds(5))
        }
        let whole = try assignment.started(now: .now)
        context.meter.setPartitions(search.partitions.count, worker: slot.number)
        considerWatermarks(checked.positions, isRewind: search.isRewind)
        beginRefold(whole: whole)
        health.watch.progressed()
        reportReset(checked.reset)
    }

    /// Warns of watermarks that are ahead of the clock: their partitions' timers that are due before them are not sent.
    private func considerWatermarks(
        _ positions: [Int32: (offset: Int64, metadata: OffsetMetadata)], isRewind: Bool
    ) {
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
    /// (docs/design.md §6, "Where a group starts").
    private mutating func startOffsets(
        of partitions: [TopicPartition]
    ) throws -> [TopicPartition: CommittedOffset] {
        var starts = try consumer.committed(partitions, timeout: .seconds(1))
        let topic = context.configuration.topics.events
        let committed = Set(starts.keys.map(\.partition))
        switch try assignment.answered(committed, from: context.configuration.from) {
        case .locate: break
        case .refuse(let missing):
            throw StartRules.noStart(missing.of(topic), group: context.configuration.groupID)
        case .begin(let missing, at: let start):
            starts.merge(try begin(missing.of(topic), at: start)) { _, new in new }
        }
        return starts
    }

    private mutating func begin(
        _ missing: [TopicPartition], at start: PipelineConfiguration.StartPosition
    ) throws -> [TopicPartition: CommittedOffset] {
        let topic = context.configuration.topics.events
        let count = try Int32(consumer.partitionCount(of: topic, timeout: .seconds(5)))
        let offsets =
            switch start {
            case .earliest: try consumer.startOffsets(missing, timeout: .seconds(5))
            case .latest: try consumer.endOffsets(missing, timeout: .seconds(5))
            case .time(let milliseconds):
                try consumer.offsets(at: Timestamp(milliseconds: milliseconds), of: missing, timeout: .seconds(5))
            }
        let metadata = OffsetMetadata(
            watermark: TimerWatermark(context.clock.now()), partitions: count, newestTimestamp: 0
        ).text
        let new = offsets.mapValues { CommittedOffset(offset: $0, metadata: metadata) }
        try consumer.commit(new, timeout: .seconds(5))
        logger.info("starts \(missing.count) partitions that had no committed offset", ["partitions": missing.list])
        return new
    }

    /// Only an operator can decide about an offset outside the log: the error says what was lost, and nothing is
    /// skipped.
    ///
    /// - Returns: what the log has of these partitions.
    private mutating func checkRange(_ starts: [TopicPartition: CommittedOffset]) throws -> LogBounds {
        let partitions = Array(starts.keys)
        let log = LogBounds(
            first: try consumer.startOffsets(partitions, timeout: .seconds(5)),
            end: try consumer.endOffsets(partitions, timeout: .seconds(5)))
        for (partition, start) in starts.sorted(by: { $0.key < $1.key }) {
            guard let first = log.first[partition], let end = log.end[partition] else { continue }
            if let problem = StartRules.rangeProblem(partition, committed: start.offset, first: first, end: end) {
                throw problem
            }
        }
        return log
    }

    private func reportReset(_ partitions: [TopicPartition]) {
        guard !partitions.isEmpty else { return }
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

extension [Int32: Int64] {
    fileprivate func of(_ topic: String) -> [TopicPartition: Offset] {
        [TopicPartition: Offset](
            uniqueKeysWithValues: map { (TopicPartition(topic: topic, partition: $0), Offset($1)) })
    }
}

extension [TopicPartition] {
    /// `0, 1, 5`
    var list: String { map { String($0.partition) }.joined(separator: ", ") }
}
