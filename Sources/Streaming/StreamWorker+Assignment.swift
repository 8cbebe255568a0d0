import Hosting
import KafkaClient

extension StreamWorker where T: ~Copyable {
    /// Serves the group's events and the producer's delivery reports.
    mutating func serveControl() throws {
        try serveGroup(timeout: .zero)
        transaction.poll()
        try considerErrors(transaction.takeErrors())
    }

    /// Serves the group's events: assignments, revocations, errors, statistics.
    mutating func serveGroup(timeout: Duration) throws {
        var patience = timeout
        while let event = consumer.nextEvent(timeout: patience) {
            patience = .zero
            switch event {
            case .assign(let partitions):
                logger.info("assigned \(partitions.count) partitions", ["partitions": list(partitions)])
                assignments += 1
                refusal = nil
                assignment.assigned(partitions, now: now)
                // An unanswered assignment would block the whole group until the partitions are located.
                try consumer.assign([:])
            case .revoke(_, let isLost): try revoke(isLost: isLost)
            case .error(let error): try considerErrors([error])
            case .statistics(let statistics): observe(statistics)
            }
        }
    }

    /// The lag counts from what is taken here: the client's own figure ignores commits in transactions.
    mutating func observe(_ statistics: ClientStatistics) {
        if statistics.isConnected { host.health.brokersAreDown(nil, of: contract.slot.label) }
        var lag = (self.lag ?? [:]).filter { tenant.unfinished($0.key) != nil }
        for each in statistics.partitions {
            guard let position = tenant.unfinished(each.partition), let end = each.lastStableOffset else { continue }
            lag[each.partition] = Int(max(0, end.value - position))
            guard let watermark = each.highWatermark,
                hungTransactions.observe(
                    partition: each.partition, lastStable: end.value, highWatermark: watermark.value, now: now)
            else { continue }
            logger.warning(
                "a transaction upstream has been open for more than a minute: nothing after it can be read",
                ["partition": "\(each.partition)", "open_since_offset": "\(end)", "high_watermark": "\(watermark)"])
        }
        self.lag = lag
        tenant.measured(lag: lag, hung: hungTransactions.hung)
    }

    private func list(_ partitions: [TopicPartition]) -> String {
        let isAlone = contract.inputs.count == 1
        return partitions.map { isAlone ? "\($0.partition)" : "\($0)" }.joined(separator: ", ")
    }

    /// Commits what is open, then gives up the partitions, at once or when the tenant has let go; if they are lost, it is
    /// dropped (docs/kafka.md 8). They are not read again in here, whatever goes wrong: they are no longer its own.
    mutating func revoke(isLost: Bool) throws {
        if isLost {
            fencings.noteLostContact(now: now)
            logger.warning("lost its partitions: what was open is sent by their next owner")
        } else if let parting {
            let until = parting.until ?? parting.limit.map { now + $0 }
            self.parting?.until = until
            return
        } else {
            logger.info("gives its partitions back", ["partitions": list(partitions)])
        }
        do {
            try host.reach(.inRevoke, worker: contract.slot.number)
            if !isLost { try commit() }
        } catch let error as PipelineError {
            throw error
        } catch {
            logger.warning("could not commit before the partitions were revoked: \(error)")
            if let error = error as? KafkaError { try end(transactions.failed(error)) }
        }
        try end(transactions.dropped())
        if !isLost, part(isLast: false) { return }
        release()
        try consumer.unassign()
    }

    /// Begins to give up the partitions.
    ///
    /// - Parameter isLast: whether the worker ends, so that nobody else waits for them yet.
    /// - Returns: whether the tenant has to let go of them first.
    @discardableResult
    mutating func part(isLast: Bool) -> Bool {
        let limit = tenant.letGo(isLast: isLast)
        guard isLast || limit != nil else { return false }
        forgetRecords()
        parting = Parting(isLast: isLast, limit: limit, until: isLast ? nil : limit.map { now + $0 })
        return true
    }

    /// Gives up the partitions, once the tenant has let go of them.
    ///
    /// - Returns: whether the worker has ended.
    mutating func give(_ parting: Parting) throws -> Bool {
        if keepsAll, unknown == nil { try commitIfDue() }
        if !tenant.hasLetGo {
            guard isOver(parting) else {
                wait()
                return false
            }
            logger.warning("could not commit the last of them before the partitions were revoked")
        }
        release()
        if parting.isLast { return true }
        try consumer.unassign()
        return false
    }

    /// Whether the group waits no longer.
    func isOver(_ parting: Parting) -> Bool { parting.until.map { now >= $0 } ?? false }

    /// Nothing is open any longer, and no partition its own.
    mutating func release() {
        dropUnknown()
        forgetRecords()
        tenant.release(.toOthers)
        parting = nil
        highs = nil
        lag = nil
        committed.removeAll()
        partitions.removeAll()
        hungTransactions = HungTransactionWatch()
        for input in inputs { input.watch.progressed(now: now) }
        assignment.released()
    }

    /// An end that is not known no longer matters: whoever locates the partitions asks the group.
    private mutating func dropUnknown() {
        guard unknown != nil else { return }
        unknown = nil
        tenant.aborted()
    }

    /// Finds out again where the partitions are. What is open is dropped.
    mutating func startAgain() throws {
        try end(transactions.dropped())
        dropUnknown()
        forgetRecords()
        tenant.release(.toItself)
        highs = nil
        // Partitions that are being taken away are not its own any more.
        guard parting == nil else { return }
        try consumer.unassign()
        try consumer.assign([:])
        assignment.mustBegin(now: now)
    }

    /// Finds out where the partitions are, restores what is remembered of them, and begins to read.
    ///
    /// Outside any callback and with a short timeout, since the answer waits for a dead predecessor's open transaction
    /// (docs/kafka.md 8).
    mutating func locate(_ search: AssignmentMachine<TopicPartition>.Search) throws {
        guard try tenant.refresh(isIdle: true) else { return wait() }
        do {
            var found = try find(search.partitions)
            guard areSettled(found) else {
                askAgain()
                if try isLate(), patience.isDue("settled", now: now) {
                    logger.warning(
                        "still waiting for a transaction in a retry topic to end: `kafka-transactions.sh find-hanging` "
                            + "finds one that never does")
                }
                return
            }
            switch try tenant.locate(&found, &consumer) {
            case .later: askAgain()
            case .starts(let starts, let beside):
                guard try restore(starts.mapValues(\.restores).merging(beside) { $1 }) else { return }
                try start(starts, found, search)
            }
        } catch let error as KafkaError where error.recovery == .retry {
            askAgain()
            if try isLate(), patience.isDue("committed", now: now) {
                logger.warning(
                    "still waiting for the committed offsets: a transaction that wrote offsets of this group has not ended: \(error)"
                )
            }
        }
    }

    /// Whether the partitions are not located after the longest time that a transaction can be open.
    private func isLate() throws(PipelineError) -> Bool {
        try assignment.unanswered(longerThan: contract.transactionTimeout + .seconds(10), now: now)
    }

    private mutating func askAgain() {
        tenant.release(.toItself)
        nextAttempt = now + .milliseconds(200)
    }

    private mutating func find(_ partitions: [TopicPartition]) throws -> Findings {
        let committed = try consumer.committed(partitions, timeout: .seconds(1))
        if highs == nil, !contract.settledInputs.isEmpty { highs = try highWatermarks(of: partitions) }
        return Findings(
            partitions: partitions, committed: committed, highs: highs ?? [:],
            starts: try consumer.startOffsets(partitions, timeout: .seconds(5)),
            ends: try consumer.endOffsets(partitions, timeout: .seconds(5)),
            partitionCounts: try partitionCounts())
    }

    /// Beyond the last stable offset there may be what a predecessor has written and not ended.
    private func highWatermarks(of partitions: [TopicPartition]) throws(KafkaError) -> [TopicPartition: Offset] {
        let settings = contract.settings.merging(["isolation.level": "read_uncommitted"]) { $1 }
        return try contract.clients.endOffsets(partitions, settings, logger.clientSink)
    }

    /// Whether everything below the high watermarks of the inputs that ask for it is committed or aborted.
    private func areSettled(_ found: Findings) -> Bool {
        found.highs.allSatisfy { partition, high in
            !contract.settledInputs.contains(partition.topic) || (found.ends[partition] ?? Offset(0)) >= high
        }
    }

    private mutating func partitionCounts() throws -> [String: Int32] {
        var counts: [String: Int32] = [:]
        for topic in contract.inputs {
            counts[topic] = Int32(try consumer.partitionCount(of: topic, timeout: .seconds(5)))
        }
        return counts
    }

    /// - Returns: false if the group took the partitions meanwhile, or the process is to end.
    private mutating func restore(_ ranges: [TopicPartition: Range<Int64>]) throws -> Bool {
        let missing = ranges.filter { !$0.value.isEmpty }
        let isRestored = try readBeside(
            from: missing.mapValues { Offset($0.lowerBound) }, to: missing.mapValues { Offset($0.upperBound) }
        ) { try $0.tenant.restore($1) }
        guard isRestored else { return false }
        try tenant.restored()
        return true
    }

    private mutating func start(
        _ starts: [TopicPartition: Start], _ found: Findings, _ search: AssignmentMachine<TopicPartition>.Search
    ) throws {
        try assignment.located()
        assignment.group = try consumer.groupMetadata()
        committed = found.committed
        partitions = starts.keys.sorted()
        for input in inputs { input.watch.resumed(after: search.began, now: now) }
        try consumer.assign(starts.mapValues(\.offset))
        try assignment.started()
        logger.info("reads \(starts.count) partitions of \(contract.inputs.joined(separator: ", "))")
    }

    /// Reads back to where the tenant is: nothing of what was read since its last commit counts.
    mutating func rewind() throws {
        // What is taken back cannot be committed any longer; nothing is read meanwhile.
        if unknown != nil { return }
        switch assignment.phase {
        case .unassigned: return
        // What was asked for is asked for again.
        case .locating, .starting: tenant.release(.toItself)
        case .reading:
            if keepsAll { return }
            forgetRecords()
            var positions: [TopicPartition: Offset] = [:]
            for partition in partitions { positions[partition] = tenant.position(partition).map { Offset($0) } }
            guard !positions.isEmpty else { return }
            do throws(KafkaError) {
                try consumer.seek(to: positions, timeout: .seconds(5))
            } catch {
                // A partition that is not read yet cannot be sought in, and one that is assigned again at once may get
                // nothing for a minute (docs/kafka.md 6).
                logger.notice("asks where its partitions are after: \(error)")
                try startAgain()
            }
        }
    }

    /// Lets the tenant look at records that are not taken yet.
    ///
    /// - Returns: false if nothing may be taken now.
    mutating func lookAhead() throws -> Bool {
        let starts = tenant.looksAheadFrom
        guard !starts.isEmpty else { return true }
        let ends = try consumer.endOffsets(Array(starts.keys), timeout: .seconds(5))
        let askedAt = now
        guard try readBeside(from: starts, to: ends, { try $0.tenant.look(ahead: $1) }) else { return false }
        return tenant.looked(ahead: ends, askedAt: askedAt)
    }

    /// Reads with another consumer, and serves the group meanwhile.
    ///
    /// - Returns: false if the group took the partitions, or the process is to end.
    private mutating func readBeside(
        from starts: [TopicPartition: Offset], to ends: [TopicPartition: Offset],
        _ take: (inout Self, borrowing RecordBatch) throws -> Void
    ) throws -> Bool {
        guard starts.contains(where: { $1 < ends[$0] ?? $1 }) else { return true }
        let before = assignments
        var nextService = now
        do {
            try contract.clients.read(from: starts, to: ends, contract.settings, logger.clientSink) { batch in
                try take(&self, batch)
                guard now >= nextService else { return }
                nextService = now + .milliseconds(200)
                try serveControl()
                if case .unassigned = assignment.phase { throw ReadingEnded() }
                guard assignments == before, parting == nil, !host.mustEnd else { throw ReadingEnded() }
            }
        } catch is ReadingEnded {
            return false
        }
        return true
    }
}

/// The partitions were taken away while they were read.
private struct ReadingEnded: Error {}
