import KafkaClient

/// What is left to do before the partitions of an assignment are read.
struct AssignmentProgress {
    var partitions: [Int32] = []
    /// The table's barrier that fan-out waits for.
    var barrier = 0
    var isDone = true
    /// The partitions are read already, and only go back.
    var isRewind = false
    var began = ContinuousClock.now
}

extension Worker {
    /// Serves what the group says, and the producer's reports.
    mutating func serveControl(timeout: Duration) throws {
        try serveGroup(timeout: timeout)
        output.poll()
        try considerErrors(output.takeErrors())
    }

    /// Serves what the group says: assignments, revocations, errors, statistics.
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

    /// The lag counts from what was processed here: the client's own does not know of commits in transactions.
    private mutating func observe(_ statistics: ClientStatistics) {
        if statistics.brokers.contains(where: { $0.state == "UP" }) {
            context.board.brokersAreDown(nil, worker: slot.number)
        }
        var lag: [Int32: Int] = [:]
        for each in statistics.partitions {
            guard let position = positions[each.partition.partition], let end = each.lastStableOffset else { continue }
            lag[each.partition.partition] = Int(max(0, end.value - position.reached))
            guard let watermark = each.highWatermark,
                hungTransactions.observe(
                    partition: each.partition.partition, lastStable: end.value, highWatermark: watermark.value)
            else { continue }
            logger.warning(
                "a transaction upstream has been open for more than a minute: nothing behind it can be read",
                ["partition": "\(each.partition)", "open_since_offset": "\(end)", "high_watermark": "\(watermark)"])
        }
        guard !lag.isEmpty else { return }
        context.meter.setLag(lag, hungTransactions: hungTransactions.hung.count, worker: slot.number)
    }

    private mutating func startAssignment(_ partitions: [TopicPartition]) throws {
        logger.info("assigned \(partitions.count) partitions", ["partitions": partitions.list])
        refusal = nil
        context.board.set(.positioning, worker: slot.number)
        assignment = AssignmentProgress(
            partitions: partitions.map(\.partition).sorted(), barrier: context.gate.requestBarrier(), isDone: false)
        // An unanswered assignment would hold up the whole group, for as long as the committed offsets take.
        try consumer.assign([:])
    }

    /// Finishes and commits what is open, then lets the partitions go; what is lost is dropped (kafka-rules 8).
    private mutating func revoke(isLost: Bool) throws {
        if isLost { fencings.noteLostContact() }
        logger.info(isLost ? "lost its partitions" : "gives its partitions back", ["partitions": "\(positions.owned)"])
        do {
            try context.reach(.inRevoke, worker: slot.number)
            if !isLost { try commit() }
        } catch let error as KafkaError {
            logger.warning("could not commit before the partitions went: \(error)")
            try endTransaction(after: error)
        }
        try discardTransaction()
        try releaseAssignment()
    }

    mutating func releaseAssignment() throws {
        noteFolds()
        positions.revokeAll()
        ticks.removeAll()
        assignment = AssignmentProgress()
        isolation.reset()
        hungTransactions = HungTransactionWatch()
        group = nil
        context.board.set(.joining, worker: slot.number)
        context.meter.setPartitions(0, worker: slot.number)
        try consumer.unassign()
    }

    /// Goes back to the committed offsets of the partitions that are owned (kafka-rules 6).
    mutating func rewind() {
        noteFolds()
        ticks.removeAll()
        guard !positions.isEmpty else { return }
        context.board.set(.positioning, worker: slot.number)
        assignment = AssignmentProgress(
            partitions: positions.owned, barrier: assignment.barrier, isDone: false,
            isRewind: assignment.isDone || assignment.isRewind)
    }

    /// The same where the log no longer has the next offset of a partition: librdkafka has stopped to read it, and seeks in
    /// none such (2.0.2 answers `_STATE`). All are given back, and assigned once the committed offsets are known.
    mutating func rewindFromOutOfRange() throws {
        rewind()
        try consumer.unassign()
        assignment.isRewind = false
    }

    /// Asks for the committed offsets and starts to read there, once they are known.
    ///
    /// Outside any callback and in slices, since the answer waits for a dead predecessor's open transaction
    /// (kafka-rules 8). Until then nothing is read.
    mutating func advanceAssignment() throws {
        guard !assignment.isDone else { return }
        do {
            try startReading()
        } catch let error as KafkaError where error.recovery == .retry {
            let isLate = .now - assignment.began > context.configuration.transactionTimeout + .seconds(10)
            if isLate, context.patience.isDue("committed") {
                logger.warning(
                    "still waiting for the committed offsets: a transaction that wrote offsets of this group has not ended: \(error)"
                )
            }
        }
    }

    private mutating func startReading() throws {
        let topic = context.configuration.topics.events
        let partitions = assignment.partitions.map { TopicPartition(topic: topic, partition: $0) }
        if partitions.isEmpty {
            assignment.isDone = true
            context.board.set(.reading, worker: slot.number)
            return
        }
        let starts = try startOffsets(of: partitions)
        let count = try Int32(consumer.partitionCount(of: topic, timeout: .seconds(5)))
        let checked = try StartRules.check(starts, partitionCount: count, now: context.clock.now())
        try prepareOrders(checked.positions, log: try checkRange(starts))
        group = try consumer.groupMetadata()
        positions.assign(checked.positions, folds: folds.offsets, partitionCount: count)
        let reading = Dictionary(
            uniqueKeysWithValues: positions.owned.map { partition in
                (TopicPartition(topic: topic, partition: partition), Offset(positions[partition]?.folded ?? 0))
            })
        if assignment.isRewind {
            try consumer.seek(to: reading, timeout: .seconds(5))
        } else {
            try consumer.assign(reading)
        }
        assignment.isDone = true
        context.meter.setPartitions(partitions.count, worker: slot.number)
        considerWatermarks(checked.positions)
        beginRefold()
        watch.progressed()
        reportReset(checked.reset)
    }

    /// Tells of watermarks that are ahead of the clock: their partitions' timers stay silent until it has come so far.
    private func considerWatermarks(_ positions: [Int32: (offset: Int64, metadata: OffsetMetadata)]) {
        guard context.configuration.orders.schedule != nil else { return }
        context.meter.setWatermarks(positions.mapValues(\.metadata), clock: context.clock, worker: slot.number)
        let ahead = StartRules.aheadWatermarks(positions, now: context.clock.now())
        guard !ahead.isEmpty, !assignment.isRewind else { return }
        logger.warning(
            "the timer watermark is ahead of the clock and of every record: the timers of these partitions that are due "
                + "before it are not sent; see `carillon offsets set --watermark`",
            [
                "ahead": ahead.sorted { $0.key < $1.key }
                    .map { "\($0.key): \($0.value / 1_000) s" }.joined(separator: ", ")
            ])
    }

    /// The committed offsets, and `--from` for the partitions that have none: committed at once, before any record
    /// (design §6, "Where a group starts").
    private mutating func startOffsets(
        of partitions: [TopicPartition]
    ) throws -> [TopicPartition: CommittedOffset] {
        var starts = try consumer.committed(partitions, timeout: .seconds(1))
        let missing = partitions.filter { starts[$0] == nil }
        guard !missing.isEmpty else { return starts }
        guard let from = context.configuration.from else {
            throw StartRules.noStart(missing, group: context.configuration.groupID)
        }
        let topic = context.configuration.topics.events
        let count = try Int32(consumer.partitionCount(of: topic, timeout: .seconds(5)))
        let offsets =
            switch from {
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
        starts.merge(new) { _, new in new }
        return starts
    }

    /// An offset outside the log is a person's to decide: what was lost is said, and nothing is skipped.
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

extension [TopicPartition] {
    /// `0, 1, 5`
    var list: String { map { String($0.partition) }.joined(separator: ", ") }
}
