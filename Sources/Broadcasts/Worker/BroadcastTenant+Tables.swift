import KafkaClient
import Pipeline
import StateStore
import Streaming

extension BroadcastTenant {
    /// Says where the partitions are, and opens their tables.
    mutating func locate(_ found: inout Findings, _ member: inout any MemberClient & ~Copyable) throws -> Locating {
        let topic = context.configuration.topics.subscriptions
        let count = found.partitionCounts[topic] ?? 0
        guard count == context.log.partitions else {
            throw PipelineError.movedKeys(in: topic, from: context.log.partitions, to: count)
        }
        let now = context.clock.now()
        do {
            try openTables(try begin(found, now: now), found, now: now)
        } catch let error as StoreError where error.kind == .alreadyOpen {
            // The worker that has had the partition gives it up in a moment.
            return .later
        }
        var located: [TopicPartition: Start] = [:]
        for (number, partition) in core.partitions {
            located[topicPartition(number)] = Start(
                Offset(partition.committed.offset), restores: partition.table.stored, upTo: partition.committed.offset)
        }
        return .starts(located)
    }

    private func begin(_ found: Findings, now: WallTime) throws -> [Int32: BroadcastOffset] {
        var begun: [Int32: BroadcastOffset] = [:]
        let firstBroadcast = core.firstBroadcast(includesValid: context.includesValid, clock: now)
        var firstStarts: [String: [Int32]] = [:]
        for (topicPartition, end) in found.ends {
            switch try BroadcastStart(found.committed[topicPartition], of: topicPartition, context.log, now: now) {
            case .continues(let offset): begun[topicPartition.partition] = offset
            case .first(let reason):
                firstStarts[reason, default: []].append(topicPartition.partition)
                context.meter.firstStart()
                // Its time says that the group does not have it yet.
                begun[topicPartition.partition] = BroadcastOffset(
                    offset: end.value, partitions: context.log.partitions, time: .epoch, broadcast: firstBroadcast)
            }
        }
        for (reason, numbers) in firstStarts.sorted(by: { $0.key < $1.key }) {
            logger.notice(
                "\(numbers.count) partitions start at their ends, with broadcast \(firstBroadcast): \(reason)",
                ["partitions": numbers.sorted().map(String.init).joined(separator: " ")])
        }
        return begun
    }

    private mutating func openTables(
        _ begun: [Int32: BroadcastOffset], _ found: Findings, now: WallTime
    ) throws {
        var records: [TopicPartition: RecentFingerprints] = [:]
        for (number, committed) in begun.sorted(by: { $0.key < $1.key }) {
            let topicPartition = topicPartition(number)
            let log = log(of: topicPartition, committed, found, now: now)
            let opened = try ChannelTable.open(context.folder(of: number), log)
            core.assign(number, committed: committed, table: opened.table)
            if let reason = opened.rebuilt { rebuilds(topicPartition, reason) }
            records[topicPartition] = opened.records
        }
        // Wipes tables that came from another log.
        let judgements = try LogCheck.judge(
            records.filter { !$0.value.elements.isEmpty }, starts: found.starts, ends: found.ends,
            settings: context.configuration.kafka, by: context.clients, logger: logger.clientSink)
        for (topicPartition, judgement) in judgements {
            guard let difference = judgement.difference(in: topicPartition),
                let committed = begun[topicPartition.partition]
            else {
                continue
            }
            rebuilds(topicPartition, difference)
            try core.remove(topicPartition.partition)?.close()
            let table = try ChannelTable.openWiped(
                context.folder(of: topicPartition.partition), log(of: topicPartition, committed, found, now: now))
            core.assign(topicPartition.partition, committed: committed, table: table)
        }
    }

    private func log(
        of topicPartition: TopicPartition, _ committed: BroadcastOffset, _ found: Findings, now: WallTime
    ) -> ChannelTable.Log {
        ChannelTable.Log(
            origin: .init(
                topic: topicPartition.topic, partition: topicPartition.partition, cluster: context.log.cluster),
            start: found.starts[topicPartition]?.value ?? 0, committed: committed.offset,
            largestAge: context.log.largestTableAge, now: now)
    }

    private func rebuilds(_ topicPartition: TopicPartition, _ reason: String) {
        logger.notice("the channels of \(topicPartition) are folded from the beginning: \(reason)")
        context.meter.rebuilt()
    }

    /// Folds in silence what the tables lack.
    mutating func restore(_ batch: borrowing RecordBatch) throws {
        var read: [Int32: Int64] = [:]
        for index in 0..<batch.count {
            let record = SubscriptionRecord(of: batch, at: index, partitions: Int(context.log.partitions))
            guard let partition = core.partitions[record.partition], record.offset < partition.committed.offset else {
                continue
            }
            _ = try partition.table.apply(record, timestamp: batch[index].timestamp)
            read[record.partition] = record.offset + 1
        }
        // Each table keeps its changes together with their offset: the store of another one may fail in between.
        for (number, offset) in read {
            guard let partition = core.partitions[number] else { continue }
            partition.table.commit()
            partition.folded = offset
            if partition.table.pendingCount >= ChannelTable.mostPending { try partition.table.flush(at: offset) }
        }
    }

    mutating func restored() throws {
        for partition in core.partitions.values {
            partition.folded = nil
            guard partition.table.stored < partition.committed.offset else { continue }
            partition.table.commit()
            try partition.table.flush(at: partition.committed.offset)
        }
    }

    mutating func release(_ reason: Release) {
        core.aborted()
        for number in core.owned {
            // A table that was being brought up to its offset lacks the rest.
            let offset = core.partitions[number].map { $0.folded ?? $0.committed.offset } ?? 0
            guard let table = core.remove(number) else { continue }
            do throws(StoreError) {
                if table.isPending { try table.flush(at: offset) }
                try table.close()
            } catch {
                logger.warning("the table of partition \(number) was not stored: \(error)")
            }
        }
    }

    /// Stores what has come together, now and then; notes how old the tables are.
    mutating func tend() throws -> Bool {
        let isDue = context.now >= nextFlush
        if isDue { nextFlush = context.now + .seconds(10) }
        let now = context.clock.now()
        var isTooOld = false
        for (number, partition) in core.partitions {
            if isDue, context.isReached(number, at: partition.committed.offset) {
                partition.table.time = now
            }
            let table = partition.table
            // The age of a table without changes is stored as well.
            let isOld = table.time - table.storedTime > Self.commitAgain
            if table.pendingCount >= ChannelTable.mostPending || isDue && (table.isPending || isOld) {
                try table.flush(at: partition.committed.offset)
            }
            isTooOld = isTooOld || abs(now - partition.table.time) > context.log.largestTableAge
        }
        if isTooOld {
            logger.notice(
                "tables stood still for so long that they may have missed unsubscriptions: they are filled again")
        }
        return !isTooOld
    }
}
