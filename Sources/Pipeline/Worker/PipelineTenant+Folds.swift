import KafkaClient
import StateStore
import Streaming

extension PipelineTenant {
    /// Opens the checkpoint of this worker's states of a source that it reads; without one they are folded from the log.
    static func openCheckpoint(
        of source: SourceKind, _ slot: Slot, _ context: WorkerContext, _ logger: Logger
    ) -> FoldCheckpoint? {
        guard context.sources.contains(source) else { return nil }
        let configuration = context.configuration
        let stamp =
            switch source {
            case .orders: "\(OrderBlock.version) \(configuration.topics.events) \(configuration.orderStamp)"
            case .requests: "\(RequestStates.version) \(configuration.topics.requests) \(configuration.requestStamp)"
            }
        do throws(StoreError) {
            let path = StateFolder.states(of: "\(source)", in: configuration.stateDirectory, worker: slot.number)
            let (store, opening) = try DiskStore.open(path, forgivesUnclean: context.holds.explainsEnd)
            if case .wiped(let reason) = opening { logger.notice("the state of \(source) is folded again: \(reason)") }
            let checkpoint = try FoldCheckpoint(store, stamp: stamp, cluster: context.cluster)
            if let foreign = checkpoint.foreignCluster {
                logger.notice(
                    "the state of \(source) is folded from the log: its checkpoint is of another cluster, \(foreign)")
            }
            return checkpoint
        } catch {
            logger.warning("no checkpoint of the state of \(source), it is folded from the log at each start: \(error)")
            return nil
        }
    }

    /// Makes sure that each partition has a state to continue folding from: the one in memory, the checkpoint's, or an
    /// empty one as long before the newest record below the committed offset as the state depends on. Can be repeated.
    ///
    /// - Parameters:
    ///   - committed: where the partitions continue.
    ///   - log: what the log has of them.
    /// - Throws: a `KafkaError` where the log does not answer: no checkpoint is used without comparing it with the log.
    mutating func prepareStates(
        of source: SourceKind, _ committed: [Int32: CommittedPosition], log: LogBounds,
        _ member: inout any MemberClient & ~Copyable
    ) throws {
        for partition in folds[source].forget(except: Set(committed.keys)) {
            core.revoke(SourcePartition(source, partition))
        }
        let configuration = context.configuration
        let topic = configuration.topics.topic(of: source)
        let needed = folds[source].needed(committed.mapValues(\.offset), first: log.first, of: topic)
        let foreign = try foreignCheckpoints(of: source, needed, log: log)
        let now = context.clock.now()
        var missing: [TopicPartition: WallTime] = [:]
        for (id, usable) in needed.sorted(by: { $0.key < $1.key }) {
            guard let metadata = committed[id.partition]?.metadata else { continue }
            folds[source].offsets[id.partition] = loadCheckpoint(
                of: SourcePartition(source, id.partition), watermark: metadata.watermark,
                foreign.contains(id) ? nil : usable)
            if folds[source].offsets[id.partition] == nil {
                missing[id] = configuration.foldStart(of: source, upTo: metadata, now: now)
            }
        }
        guard !missing.isEmpty else { return }
        let found = try member.offsets(at: missing, timeout: .seconds(5))
        // Queried after it: what retention removes in between would otherwise not be noticed.
        let first = try member.startOffsets(Array(missing.keys), timeout: .seconds(5))
        for (id, offset) in found {
            guard let start = committed[id.partition] else { continue }
            beginFold(
                of: SourcePartition(source, id.partition), at: offset.value, first: first[id]?.value ?? 0, upTo: start)
        }
    }

    private mutating func beginFold(
        of partition: SourcePartition, at offset: Int64, first: Int64, upTo start: CommittedPosition
    ) {
        let beginning = FoldBeginning(
            at: offset, first: first, committed: start.offset, newest: start.metadata.newestTimestamp)
        core.assign(partition, watermark: start.metadata.watermark, newest: .epoch, beginning: beginning)
        if folds[partition.source].checkpoint != nil { core.trackChanges(of: partition) }
        folds[partition.source].offsets[partition.number] = min(max(offset, first), start.offset)
    }

    /// The partitions whose checkpoint is of another log, by the records that it remembers. Logs a line for each.
    ///
    /// - Parameter partitions: with the offsets at which the checkpoint may be.
    private mutating func foreignCheckpoints(
        of source: SourceKind, _ partitions: [TopicPartition: ClosedRange<Int64>], log: LogBounds
    ) throws(KafkaError) -> Set<TopicPartition> {
        var recent: [TopicPartition: RecentFingerprints] = [:]
        for (id, usable) in partitions where !context.holds.isSuspect(id) {
            guard let mark = folds[source].checkpoint?.marks[id.partition], usable.contains(mark.offset) else {
                continue
            }
            recent[id] = mark.recent
        }
        guard !recent.isEmpty else { return [] }
        let judgements = try LogCheck.judge(
            recent, starts: log.first, ends: log.end, settings: context.configuration.kafka, by: context.clients,
            logger: logger.clientSink, timeout: .seconds(5))
        var foreign: Set<TopicPartition> = []
        for (id, judgement) in judgements.sorted(by: { $0.key < $1.key }) {
            guard let difference = judgement.difference(in: id) else { continue }
            foreign.insert(id)
            logger.notice("the state of \(source) is folded from the log, and not from its checkpoint: \(difference)")
        }
        return foreign
    }

    /// - Parameter usable: the offsets at which it may be; nil: none.
    /// - Returns: the offset that the checkpoint's state belongs to; nil where there is none that can be used.
    private mutating func loadCheckpoint(
        of partition: SourcePartition, watermark: TimerWatermark, _ usable: ClosedRange<Int64>?
    ) -> Int64? {
        let (source, number) = (partition.source, partition.number)
        do throws(StoreError) {
            if let mark = folds[source].checkpoint?.marks[number], usable?.contains(mark.offset) == true {
                core.assign(partition, watermark: watermark, newest: mark.newest, beginning: mark.beginning)
                if try load(partition) {
                    core.trackChanges(of: partition, recent: mark.recent)
                    return mark.offset
                }
            }
            try folds[source].checkpoint?.remove(number)
        } catch {
            giveUpCheckpoint(of: source, after: error)
        }
        return nil
    }

    private mutating func load(_ partition: SourcePartition) throws(StoreError) -> Bool {
        switch partition.source {
        case .orders: try folds.orders.checkpoint?.load(partition.number, into: &core.orders.states) ?? false
        case .requests: try folds.requests.checkpoint?.load(partition.number, into: &core.requests.states) ?? false
        }
    }

    /// Begins to fold what the states lack, at the positions.
    mutating func beginRefold() {
        hasGoneBack = false
        // What is folded up to the committed offsets was processed before, by clocks that are not known here.
        let latest = RecordTime.latest(at: context.clock.now())
        for partition in positions.owned {
            core.beginFold(of: partition, latest: latest)
            if positions[partition]?.isFolding == false { finishFold(of: partition) }
        }
        let left = positions.leftToFold
        let folding = SourceKind.allCases.filter { positions[$0].foldingCount > 0 }
        refolding = folding.isEmpty ? nil : RefoldReport(of: folding, total: left.offsets, now: context.now)
        context.meter.setRefold(Int(left.offsets), worker: slot.number)
        guard let refolding else { return reportIncomplete() }
        logger.info(
            "folds the state of \(refolding.subject) up to the committed offsets",
            ["partitions": "\(left.partitions)", "offsets": "\(left.offsets)"])
    }

    /// Folds the records that were set aside for it.
    mutating func refold() throws {
        guard refolding != nil else { return }
        let records = intake.refoldBatch.records.count
        if records > 0 {
            core.refold(&intake.refoldBatch, isOpen: transactions.open != nil)
            context.meter.count { $0.refolded += records }
        }
        folded(records, intake.takeFinishedFolds().map { SourcePartition(intake.source, $0) })
        if refolding != nil, records > 0 { try context.reach(.inRefold, worker: slot.number) }
    }

    /// The partition was read to its end: what follows the last record are a transaction's marks.
    mutating func foldedToEnd(_ partition: SourcePartition, _ offset: Int64) {
        guard refolding != nil, positions[partition.source].fold(partition: partition.number, upTo: offset) else {
            return
        }
        folded(0, [partition])
    }

    /// - Parameter finished: the partitions whose states are those of the committed offsets now.
    private mutating func folded(_ records: Int, _ finished: [SourcePartition]) {
        if transactions.open == nil { positions.commitFolds() }
        for partition in finished { finishFold(of: partition) }
        let left = positions.leftToFold
        refolding?.add(records)
        if left.partitions == 0 {
            if let report = refolding { logger.info("\(report.end(now: context.now))") }
            refolding = nil
            reportIncomplete()
        } else if let line = refolding?.line(left: left.offsets, now: context.now) {
            logger.info("\(line)")
        }
        context.meter.setRefold(Int(left.offsets), worker: slot.number)
    }

    /// The state is that of the committed offset: it continues with what is committed there.
    private mutating func finishFold(of partition: SourcePartition) {
        guard let position = positions[partition] else { return }
        let newest = core.resume(partition, watermark: position.committedWatermark, newest: position.newestTimestamp)
        positions[partition.source].raiseNewest(partition: partition.number, to: newest)
    }

    /// Warns of the partitions of orders whose state may lack something, once for each.
    private mutating func reportIncomplete() {
        var known: [String] = []
        let now = context.clock.now()
        let horizon = context.configuration.orders.horizon.wholeMilliseconds
        for partition in positions.orders.owned {
            let newest = positions.orders[partition]?.newestTimestamp ?? .epoch
            let beginning = core.orders.beginning(of: partition, newest: newest)
            guard beginning.isWorthTelling(newest: newest, now: now, horizon: horizon),
                folds.orders.reported.updateValue(beginning, forKey: partition) != beginning
            else { continue }
            switch beginning {
            case .complete: continue
            case .sinceNextRecord: known.append("\(partition): from its next record on")
            case .since(let time): known.append("\(partition): since \(time.iso8601)")
            }
        }
        guard !known.isEmpty else { return }
        logger.warning(
            "the log no longer has two horizons of events: what is known of orders is incomplete (state.horizon)",
            ["known": known.joined(separator: ", ")])
    }

    /// Writes the checkpoints that are due, where no transaction is open: every 10 s, or so much less often that it takes no
    /// more than a fiftieth of the time. A large one is written in slices, with as much time for events in between.
    mutating func saveStates(isLast: Bool = false) {
        guard transactions.open == nil, !positions.isEmpty else { return }
        for source in context.sources where isLast || context.now >= folds[source].savesAt {
            save(source, isLast: isLast)
        }
    }

    private mutating func save(_ source: SourceKind, isLast: Bool) {
        if intake.next < intake.extracted {
            core.rollBack()
            intake.extracted = intake.next
        }
        guard core.isCommitted else { return }
        let began = context.now
        switch source {
        case .orders:
            context.meter.setOrders(
                core.orders.states.count, bytes: core.orders.states.usedBytes, fullest: core.orders.states.fullest,
                worker: slot.number)
        case .requests: context.meter.setRequests(core.requests.states.count, worker: slot.number)
        }
        var marks: [Int32: FoldCheckpoint.Mark] = [:]
        for (partition, offset) in positions[source].committedFolds {
            marks[partition] = mark(of: SourcePartition(source, partition), at: offset)
        }
        var isWhole = true
        do throws(StoreError) {
            let slice = isLast ? SourceFold.lastSlice : SourceFold.saveSlice
            repeat {
                isWhole =
                    switch source {
                    case .orders:
                        try folds.orders.checkpoint?.save(marks, of: &core.orders.states, limit: slice) ?? true
                    case .requests:
                        try folds.requests.checkpoint?.save(marks, of: &core.requests.states, limit: slice) ?? true
                    }
            } while isLast && !isWhole && !context.mustStop
        } catch {
            giveUpCheckpoint(of: source, after: error)
        }
        folds[source].saved(isWhole: isWhole, began: began, now: context.now)
    }

    /// - Returns: nil for a state that has nothing in it and does not know yet what it lacks.
    private func mark(of partition: SourcePartition, at offset: Int64) -> FoldCheckpoint.Mark? {
        let newest = core.newest(in: partition)
        let foldedFrom: WallTime
        switch core.beginning(of: partition, newest: newest) {
        case .complete: foldedFrom = .epoch
        case .since(let time): foldedFrom = time
        case .sinceNextRecord: return nil
        }
        return FoldCheckpoint.Mark(
            offset: offset, watermark: positions[partition]?.committedWatermark ?? TimerWatermark(.epoch),
            newest: newest, foldedFrom: foldedFrom, recent: core.recentRecords(of: partition, below: offset))
    }

    /// What is on the disk stays as it was, for the next start. This process does not write it again, since it no longer
    /// knows what has changed since then.
    private mutating func giveUpCheckpoint(of source: SourceKind, after error: StoreError) {
        logger.warning("the state of \(source) is no longer saved, a restart has more to fold: \(error)")
        folds[source].checkpoint = nil
        for partition in folds[source].offsets.keys { core.stopTracking(SourcePartition(source, partition)) }
    }
}

extension PipelineConfiguration {
    fileprivate var orderStamp: String { OrderFold.stamp(rules, orders) }
    fileprivate var requestStamp: String { RulesHash.stamp(of: requests) }

    /// The time of the first record to fold up to a committed offset.
    func foldStart(of source: SourceKind, upTo committed: OffsetMetadata, now: WallTime) -> WallTime {
        switch source {
        // Without a newest timestamp, from the start of the log.
        case .orders: return foldStart(of: source, newest: committed.newestTimestamp)
        case .requests:
            // Without one the group has begun as requests.from says, or somebody has set its offset.
            let newest = committed.newestTimestamp
            return foldStart(of: source, newest: newest > .epoch ? newest : now - requestsFrom.wholeMilliseconds)
        }
    }

    /// The time of the first record that the state of a partition depends on.
    ///
    /// - Parameter newest: the newest timestamp of a record that it has.
    package func foldStart(of source: SourceKind, newest: WallTime) -> WallTime {
        switch source {
        case .orders: newest - 2 * orders.horizon.wholeMilliseconds
        case .requests: newest - RequestStates.lifetime
        }
    }
}
