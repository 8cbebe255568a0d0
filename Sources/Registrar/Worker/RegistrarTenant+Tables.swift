import KafkaClient
import Pipeline
import StateStore
import Streaming

extension RegistrarTenant {
    /// Says where the commands begin, and what the table lacks: everything that its predecessor has committed.
    mutating func locate(_ found: inout Findings, _ member: inout any MemberClient & ~Copyable) throws -> Locating {
        guard found.partitions == [partition] else { throw notOne(Int(found.partitionCounts[partition.topic] ?? 0)) }
        let (starts, ends) = try bounds(&member)
        // The group's offset is there before every partition has the end of the transaction that it is of.
        let highs = try self.highs ?? highWatermarks(Array(ends.keys))
        self.highs = highs
        guard ends.allSatisfy({ $1 >= highs[$0] ?? $1 }) else {
            if context.patience.isDue("settled", every: .seconds(60)) {
                logger.notice(
                    "waits for a transaction to end in \(context.configuration.topics.foldedByRegistrar.joined(separator: ", "))"
                )
            }
            return .later
        }
        let committed = found.committed[partition]?.offset
        let start = try start(committed, found)
        hasOffset = committed != nil
        try openTable(starts, ends)
        self.starts = starts
        guard let fold else { return .later }
        begin(fold, at: start.value)
        self.ends = ends.merging(found.ends) { $1 }
        return .starts(
            [partition: Start(start, restores: 0, upTo: 0)], beside: fold.missing(upTo: ends))
    }

    private func notOne(_ count: Int) -> PipelineError {
        .decisionNeeded(
            "\(partition.topic) has \(count) partitions and must have one: all commands have one order; create it again with one"
        )
    }

    private func start(_ committed: Offset?, _ found: Findings) throws(PipelineError) -> Offset {
        let first = found.starts[partition] ?? Offset(0)
        let end = found.ends[partition] ?? first
        guard let committed else {
            logger.notice(
                "the group \(context.group) has no offset: it begins at the first command that is not decided yet")
            return first
        }
        guard committed <= end else {
            throw .decisionNeeded(
                "\(partition.topic) ends at offset \(end), and the group \(context.group) is at \(committed): it was created "
                    + "again; end every registrar of the group, set its offset to the first command that is to be decided, "
                    + "and start it again")
        }
        guard committed >= first else {
            logger.error(
                "commands were deleted before they were decided", ["from": "\(committed)", "to": "\(first)"])
            return first
        }
        return committed
    }

    /// Of every partition that is folded.
    private func bounds(
        _ member: inout any MemberClient & ~Copyable
    ) throws -> (starts: [TopicPartition: Offset], ends: [TopicPartition: Offset]) {
        var partitions: [TopicPartition] = []
        for topic in context.configuration.topics.foldedByRegistrar {
            let count = Int32(try member.partitionCount(of: topic, timeout: .seconds(5)))
            partitions += (0..<count).map { TopicPartition(topic: topic, partition: $0) }
        }
        return (
            try member.startOffsets(partitions, timeout: .seconds(5)),
            try member.endOffsets(partitions, timeout: .seconds(5))
        )
    }

    private func highWatermarks(_ partitions: [TopicPartition]) throws -> [TopicPartition: Offset] {
        let settings = context.configuration.kafka.merging(["isolation.level": "read_uncommitted"]) { $1 }
        return try context.clients.endOffsets(partitions, settings, logger.clientSink)
    }

    private mutating func openTable(
        _ starts: [TopicPartition: Offset], _ ends: [TopicPartition: Offset]
    ) throws {
        if context.mustWipe.exchange(false, ordering: .sequentiallyConsistent) {
            try DiskStore.wipe(context.folder)
            context.meter.rebuilt()
        }
        let opened = try RegistrarFold.open(
            context.folder, context.configuration.topics, cluster: context.log.cluster, starts: starts, ends: ends,
            largestAge: context.log.largestTableAge, now: context.clock.now(), isKnown: hasOffset)
        if let reason = opened.rebuilt {
            logger.notice("the registrar's table is filled from the beginning: \(reason)")
            context.meter.rebuilt()
        }
        fold = opened.fold
    }

    /// Folds in silence what the table lacks.
    mutating func restore(_ batch: borrowing RecordBatch) throws {
        guard let fold else { return }
        try fold.take(batch)
        if fold.isFull { try fold.flush() }
    }

    mutating func restored() throws {
        guard let fold else { return }
        fold.reached(ends.filter { $0.key != partition }.mapValues(\.value))
        fold.time = context.clock.now()
        try fold.flush()
        if fold.foreign > 0 {
            context.meter.unreadable(fold.foreign)
            logger.error(
                "\(fold.foreign) records of devices, people and erasures are not of this version: they are as if they were not there, until their apps start again"
            )
        }
        firstUndecided = hasOffset ? 0 : firstUndecided(after: fold.newestRevision)
        begin(reading: fold)
    }

    /// A revision is the offset of a command: where the group has no offset, what is there says what was decided.
    private func firstUndecided(after revision: Int64?) -> Int64 {
        guard let revision else { return 0 }
        guard revision < ends[partition]?.value ?? 0 else {
            logger.notice("\(partition.topic) was created again: all of its commands are decided")
            return 0
        }
        return revision + 1
    }

    mutating func release(_ reason: Release) {
        switch reason {
        case .toOthers: highs = nil
        // It is asked for again and again while a transaction is open.
        case .toItself: if fold != nil { highs = nil }
        }
        context.feed.stop()
        guard let fold else { return }
        self.fold = nil
        fold.table.abort()
        do throws(StoreError) {
            if fold.table.pendingCount > 0 { try fold.flush() }
            try fold.table.close()
        } catch {
            logger.warning("the registrar's table was not stored: \(error)")
        }
    }

    /// Stores what has come together, now and then; notes how old the table is.
    mutating func tend() throws -> Bool {
        guard let fold else { return true }
        if context.feed.isOther {
            logger.notice("\(context.configuration.topics.subscriptions) is another log than before")
            return false
        }
        let isDue = context.now >= nextFlush
        guard isDue || fold.isFull else { return true }
        nextFlush = context.now + .seconds(10)
        let now = context.clock.now()
        if context.feed.hasEverything(since: context.now - .seconds(10)) { fold.time = now }
        if fold.isFlushDue { try fold.flush() }
        guard abs(now - fold.time) <= context.log.largestTableAge else {
            logger.notice(
                "the table stood still for so long that it may have missed what was deleted: it is filled again")
            return false
        }
        return true
    }
}
