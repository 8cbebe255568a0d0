import KafkaClient
import Pipeline
import StateStore

extension BroadcastWorker {
    /// What the logs have of the partitions that are located.
    private struct Found {
        var committed: [Int32: BroadcastOffset] = [:]
        var starts: [TopicPartition: Offset] = [:]
        var ends: [TopicPartition: Offset] = [:]
    }

    /// Finds out where the partitions are, brings their tables up to it, and begins to read.
    mutating func locate(_ numbers: [Int32], since: ContinuousClock.Instant) throws {
        let view = context.follower.view
        guard .now >= nextAttempt, view.isFresh(within: Self.freshness) else {
            return wait()
        }
        core.update(view.records, reached: view.reached)
        do {
            let found = try find(numbers)
            let before = assignments
            guard try openTables(found), assignments == before else { return }
            try start()
        } catch let error as KafkaError where error.recovery == .retry {
            try release()
            nextAttempt = .now + .milliseconds(200)
            guard .now - since > context.configuration.transactionTimeout + .seconds(10) else { return }
            if context.patience.isDue("committed") {
                logger.warning("still waiting for the committed offsets: a transaction has not ended: \(error)")
            }
        } catch let error as StoreError where error.kind == .alreadyOpen {
            // The worker that has had the partition gives it up in a moment.
            try release()
            nextAttempt = .now + .milliseconds(200)
        }
    }

    private func places(_ numbers: [Int32]) -> [TopicPartition] {
        numbers.map { TopicPartition(topic: context.configuration.topics.subscriptions, partition: $0) }
    }

    private mutating func find(_ numbers: [Int32]) throws -> Found {
        let places = places(numbers)
        let committed = try consumer.committed(places, timeout: .seconds(1))
        var found = Found()
        found.starts = try consumer.startOffsets(places, timeout: .seconds(5))
        found.ends = try consumer.endOffsets(places, timeout: .seconds(5))
        let now = context.clock.now()
        let firstBroadcast = core.firstBroadcast(includesValid: context.includesValid, clock: now)
        var firstStarts: [String: [Int32]] = [:]
        for place in places {
            switch try BroadcastStart(committed[place], of: place, context.log, now: now) {
            case .continues(let offset): found.committed[place.partition] = offset
            case .first(let reason):
                firstStarts[reason, default: []].append(place.partition)
                context.meter.firstStart()
                // Its time says that the group does not have it yet.
                found.committed[place.partition] = BroadcastOffset(
                    offset: found.ends[place]?.value ?? 0, partitions: context.log.partitions, time: .epoch,
                    broadcast: firstBroadcast)
            }
        }
        for (reason, numbers) in firstStarts.sorted(by: { $0.key < $1.key }) {
            logger.notice(
                "\(numbers.count) partitions start at their ends, with broadcast \(firstBroadcast): \(reason)",
                ["partitions": numbers.map(String.init).joined(separator: " ")])
        }
        return found
    }

    // MARK: Tables

    /// Opens the tables, and folds what they lack below the committed offsets.
    ///
    /// - Returns: false if the group took the partitions meanwhile, or the process is to end.
    private mutating func openTables(_ found: Found) throws -> Bool {
        let now = context.clock.now()
        var records: [TopicPartition: RecentFingerprints] = [:]
        for (number, committed) in found.committed.sorted(by: { $0.key < $1.key }) {
            let place = places([number])[0]
            let log = log(of: place, found, now: now)
            let opened = try ChannelTable.open(context.folder(of: number), log)
            core.assign(number, committed: committed, table: opened.table)
            if let reason = opened.rebuilt { rebuilds(place, reason) }
            records[place] = opened.records
        }
        try compare(records, found, now: now)
        return try fold(found)
    }

    private func log(of place: TopicPartition, _ found: Found, now: WallTime) -> ChannelTable.Log {
        ChannelTable.Log(
            origin: .init(topic: place.topic, partition: place.partition, cluster: context.log.cluster),
            start: found.starts[place]?.value ?? 0, committed: found.committed[place.partition]?.offset ?? 0,
            largestAge: context.log.largestTableAge, now: now)
    }

    private func rebuilds(_ place: TopicPartition, _ reason: String) {
        logger.notice("the channels of \(place) are folded from the beginning: \(reason)")
        context.meter.rebuilt()
    }

    /// Wipes tables that came from another log.
    private mutating func compare(
        _ records: [TopicPartition: RecentFingerprints], _ found: Found, now: WallTime
    ) throws {
        let judgements = try LogCheck.judge(
            records.filter { !$0.value.elements.isEmpty }, starts: found.starts, ends: found.ends,
            settings: context.configuration.kafka, logger: logger.clientSink)
        for (place, judgement) in judgements {
            guard let difference = judgement.difference(in: place), let committed = found.committed[place.partition]
            else { continue }
            rebuilds(place, difference)
            try core.remove(place.partition)?.close()
            let table = try ChannelTable.openWiped(
                context.folder(of: place.partition), log(of: place, found, now: now))
            core.assign(place.partition, committed: committed, table: table)
        }
    }

    /// Folds in silence what the tables lack, and serves the group meanwhile.
    ///
    /// - Returns: false if the group took the partitions, or the process is to end.
    private mutating func fold(_ found: Found) throws -> Bool {
        var (starts, ends): ([TopicPartition: Offset], [TopicPartition: Offset]) = ([:], [:])
        for (number, partition) in core.partitions where partition.table.stored < partition.committed.offset {
            let place = places([number])[0]
            starts[place] = Offset(partition.table.stored)
            ends[place] = Offset(partition.committed.offset)
        }
        guard !starts.isEmpty else { return true }
        let isFolded = try readBeside(from: starts, to: ends) { worker, batch in
            for index in 0..<batch.count { try worker.fold(batch, at: index) }
            for partition in worker.core.partitions.values { try worker.store(partition, below: nil) }
        }
        guard isFolded else { return false }
        for partition in core.partitions.values { try store(partition, below: partition.committed.offset) }
        return true
    }

    /// Reads the subscriptions with another consumer, and serves the group meanwhile.
    ///
    /// - Returns: false if the group took the partitions, or the process is to end.
    private mutating func readBeside(
        from starts: [TopicPartition: Offset], to ends: [TopicPartition: Offset],
        _ take: (inout BroadcastWorker, borrowing RecordBatch) throws -> Void
    ) throws -> Bool {
        guard starts.contains(where: { $1 < ends[$0] ?? $1 }) else { return true }
        let before = assignments
        var nextService = ContinuousClock.now
        var reader = try Consumer(assigning: context.configuration.kafka, logger: logger.clientSink)
        do {
            try TopicReader.read(from: starts, to: ends, with: &reader) { batch in
                try take(&self, batch)
                guard .now >= nextService else { return }
                nextService = .now + .milliseconds(200)
                try serveControl()
                if case .unassigned = phase { throw ReadingEnded() }
                guard assignments == before, !context.mustEnd else { throw ReadingEnded() }
            }
        } catch is ReadingEnded {
            return false
        }
        return true
    }

    /// Finds out who leaves by records that are not taken yet: a device that is gone already gets nothing for having joined
    /// before. Only where joiners may get something; not while a transaction is open.
    ///
    /// - Returns: false if nothing may be taken now.
    mutating func lookAhead() throws -> Bool {
        guard core.hasValid(clock: context.clock.now()) else { return true }
        var starts: [TopicPartition: Offset] = [:]
        for place in places(core.owned) {
            guard let ahead = core.ahead(place.partition),
                !context.ends.isReached(place.partition, at: ahead, within: Self.freshness)
            else { continue }
            starts[place] = Offset(ahead)
        }
        guard !starts.isEmpty else { return true }
        let ends = try consumer.endOffsets(Array(starts.keys), timeout: .seconds(5))
        let askedAt = ContinuousClock.now
        let isRead = try readBeside(from: starts, to: ends) { worker, batch in
            let partitions = Int(worker.context.log.partitions)
            for index in 0..<batch.count {
                worker.core.look(ahead: SubscriptionRecord(of: batch, at: index, partitions: partitions))
            }
        }
        guard isRead else { return false }
        for (place, end) in ends { core.looked(ahead: end.value, of: place.partition) }
        return .now - askedAt < Self.freshness
    }

    private func fold(_ batch: borrowing RecordBatch, at index: Int) throws(StoreError) {
        let record = SubscriptionRecord(of: batch, at: index, partitions: Int(context.log.partitions))
        guard let partition = core.partitions[record.partition], record.offset < partition.committed.offset else {
            return
        }
        _ = try partition.table.apply(record, timestamp: batch[index].timestamp)
        partition.folded = record.offset + 1
    }

    /// Stores what was folded, once it is much or all.
    private func store(_ partition: BroadcastPartition, below end: Int64?) throws(StoreError) {
        partition.table.commit()
        guard let offset = end ?? partition.folded else { return }
        guard end != nil || partition.table.pendingCount >= ChannelTable.mostPending else { return }
        try partition.table.flush(at: offset)
    }

    /// Begins to read where the group is.
    private mutating func start() throws {
        group = try consumer.groupMetadata()
        var positions: [TopicPartition: Offset] = [:]
        for place in places(core.owned) { positions[place] = Offset(core.position(place.partition) ?? 0) }
        try consumer.assign(positions)
        phase = .reading
        logger.info(
            "sends broadcasts to \(core.owned.count) partitions of \(context.configuration.topics.subscriptions)")
    }
}

/// The partitions were taken away while they were read.
private struct ReadingEnded: Error {}
