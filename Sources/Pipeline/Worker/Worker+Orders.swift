import KafkaClient
import StateStore
import Streaming

extension Worker {
    /// Opens the checkpoint of this worker's orders; without one they are folded from the log.
    static func openCheckpoint(slot: Slot, context: WorkerContext, logger: Logger) -> OrderCheckpoint? {
        let configuration = context.configuration
        do throws(StoreError) {
            let path = StateFolder.orders(in: configuration.stateDirectory, worker: slot.number)
            let (store, opening) = try DiskStore.open(path, forgivesUnclean: context.holds.explainsEnd)
            if case .wiped(let reason) = opening { logger.notice("the state of orders is folded again: \(reason)") }
            let checkpoint = try OrderCheckpoint(
                store,
                stamp: "\(configuration.topics.events) \(OrderFold.stamp(configuration.rules, configuration.orders))",
                cluster: context.cluster)
            if let foreign = checkpoint.foreignCluster {
                logger.notice(
                    "the state of orders is folded from the log: its checkpoint is of another cluster, \(foreign)")
            }
            return checkpoint
        } catch {
            logger.warning("no checkpoint of the state of orders, it is folded from the log at each start: \(error)")
            return nil
        }
    }

    /// Makes sure that each partition has a state to continue folding from: the one in memory, the checkpoint's, or an
    /// empty one two horizons before the newest record below the committed offset. Can be repeated.
    ///
    /// - Parameters:
    ///   - committed: where the partitions continue.
    ///   - log: what the log has of them.
    /// - Throws: a `KafkaError` where the log does not answer: no checkpoint is used without comparing it with the log.
    mutating func prepareOrders(
        _ committed: [Int32: CommittedPosition], log: LogBounds
    ) throws {
        for partition in folds.forget(except: Set(committed.keys)) { core.orders.revoke(partition) }
        let topic = context.configuration.topics.events
        let needed = folds.needed(committed.mapValues(\.offset), first: log.first, of: topic)
        let foreign = try foreignCheckpoints(of: needed, log: log)
        var missing: [TopicPartition: WallTime] = [:]
        for (id, usable) in needed.sorted(by: { $0.key < $1.key }) {
            guard let metadata = committed[id.partition]?.metadata else { continue }
            folds.offsets[id.partition] = loadCheckpoint(
                of: id.partition, watermark: metadata.watermark, foreign.contains(id) ? nil : usable)
            if folds.offsets[id.partition] == nil {
                let horizon = context.configuration.orders.horizon.wholeMilliseconds
                missing[id] = metadata.newestTimestamp - 2 * horizon
            }
        }
        guard !missing.isEmpty else { return }
        // Without a newest timestamp, from the start of the log.
        let found = try consumer.offsets(at: missing, timeout: .seconds(5))
        // Queried after it: what retention removes in between would otherwise not be noticed.
        let first = try consumer.startOffsets(Array(missing.keys), timeout: .seconds(5))
        for (id, offset) in found {
            guard let start = committed[id.partition] else { continue }
            beginFold(of: id.partition, at: offset.value, first: first[id]?.value ?? 0, upTo: start)
        }
    }

    /// What is folded up to the committed offsets was processed before, by clocks that are not known here.
    mutating func boundFolds(_ committed: [Int32: CommittedPosition]) {
        let latest = RecordTime.latest(at: context.clock.now())
        for partition in committed.keys { core.orders.states.beginFold(of: partition, latest: latest) }
    }

    private mutating func beginFold(
        of partition: Int32, at offset: Int64, first: Int64, upTo start: CommittedPosition
    ) {
        let beginning = FoldBeginning(
            at: offset, first: first, committed: start.offset, newest: start.metadata.newestTimestamp)
        core.orders.assign(partition, watermark: start.metadata.watermark, newest: .epoch, beginning: beginning)
        if folds.checkpoint != nil { core.orders.states.trackChanges(of: partition) }
        folds.offsets[partition] = min(max(offset, first), start.offset)
    }

    /// The partitions whose checkpoint is of another log, by the records that it remembers. Logs a line for each.
    ///
    /// - Parameter partitions: with the offsets at which the checkpoint may be.
    private mutating func foreignCheckpoints(
        of partitions: [TopicPartition: ClosedRange<Int64>], log: LogBounds
    ) throws(KafkaError) -> Set<TopicPartition> {
        var recent: [TopicPartition: RecentFingerprints] = [:]
        for (id, usable) in partitions where !context.holds.isSuspect(id) {
            guard let mark = folds.checkpoint?.marks[id.partition], usable.contains(mark.offset) else { continue }
            recent[id] = mark.recent
        }
        guard !recent.isEmpty else { return [] }
        let judgements = try LogCheck.judge(
            recent, starts: log.first, ends: log.end, settings: context.configuration.kafka,
            logger: logger.clientSink, timeout: .seconds(5))
        var foreign: Set<TopicPartition> = []
        for (id, judgement) in judgements.sorted(by: { $0.key < $1.key }) {
            guard let difference = judgement.difference(in: id) else { continue }
            foreign.insert(id)
            logger.notice("the state of orders is folded from the log, and not from its checkpoint: \(difference)")
        }
        return foreign
    }

    /// - Parameter usable: the offsets at which it may be; nil: none.
    /// - Returns: the offset that the checkpoint's state belongs to; nil where there is none that can be used.
    private mutating func loadCheckpoint(
        of partition: Int32, watermark: TimerWatermark, _ usable: ClosedRange<Int64>?
    ) -> Int64? {
        do throws(StoreError) {
            if let mark = folds.checkpoint?.marks[partition], usable?.contains(mark.offset) == true {
                core.orders.assign(partition, watermark: watermark, newest: mark.newest, beginning: mark.beginning)
                if try folds.checkpoint?.load(partition, into: &core.orders.states) == true {
                    core.orders.states.trackChanges(of: partition, recent: mark.recent)
                    return mark.offset
                }
            }
            try folds.checkpoint?.remove(partition)
        } catch {
            giveUpCheckpoint(after: error)
        }
        return nil
    }

    /// Begins to fold what the states lack, once the positions are known.
    ///
    /// - Parameter whole: the partitions whose states lack nothing.
    mutating func beginRefold(whole: [Int32]) {
        for partition in whole { finishFold(of: partition) }
        showRefold()
        guard assignment.isRefolding else { return reportIncomplete() }
        logger.info(
            "folds the state of orders up to the committed offsets",
            [
                "partitions": "\(assignment.positions.orders.foldingCount)",
                "offsets": "\(assignment.positions.orders.leftToFold)",
            ])
    }

    /// Folds the records that were set aside for it, and logs its progress.
    mutating func refold() throws {
        guard assignment.isRefolding else { return }
        let records = intake.refoldBatch.records.count
        if records > 0 {
            core.refold(&intake.refoldBatch, isOpen: !transaction.isIdle)
            context.meter.count { $0.refolded += records }
        }
        if transaction.isIdle { assignment.positions.orders.commitFolds() }
        for partition in assignment.takeFinishedFolds() { finishFold(of: partition) }
        switch try assignment.folded(records, now: .now) {
        case .more(let line):
            if let line { logger.info("\(line)") }
        case .finish(let line):
            logger.info("\(line)")
            reportIncomplete()
        }
        showRefold()
        if assignment.isRefolding, records > 0 { try context.reach(.inRefold, worker: slot.number) }
    }

    private func showRefold() {
        context.meter.setRefold(Int(assignment.positions.orders.leftToFold), worker: slot.number)
        showPhase()
    }

    /// The state is that of the committed offset: it continues with what is committed there.
    private mutating func finishFold(of partition: Int32) {
        guard let position = assignment.positions.orders[partition] else { return }
        let newest = core.orders.resume(
            partition, watermark: position.committedWatermark, newest: position.newestTimestamp)
        assignment.positions.orders.raiseNewest(partition: partition, to: newest)
    }

    /// Warns of the partitions whose state may lack something, once for each.
    private mutating func reportIncomplete() {
        var known: [String] = []
        let now = context.clock.now()
        let horizon = context.configuration.orders.horizon.wholeMilliseconds
        for partition in assignment.positions.orders.owned {
            let newest = assignment.positions.orders[partition]?.newestTimestamp ?? .epoch
            let beginning = core.orders.beginning(of: partition, newest: newest)
            guard beginning.isWorthTelling(newest: newest, now: now, horizon: horizon),
                folds.reported.updateValue(beginning, forKey: partition) != beginning
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

    /// Remembers up to where the states are folded, before the positions are forgotten or located again.
    mutating func noteFolds() {
        core.rollBack()
        if let committed = assignment.committedFolds { folds.offsets.merge(committed) { $1 } }
    }

    /// Writes the checkpoint when it is due and no transaction is open: every 10 s, or so much less often that it takes no
    /// more than a fiftieth of the time. A large one is written in slices, with as much time for events in between.
    mutating func saveOrders(isLast: Bool = false) {
        guard transaction.isIdle, isLast || .now >= folds.savesAt, core.orders.states.isCommitted,
            let committed = assignment.committedFolds
        else { return }
        let began = ContinuousClock.now
        context.meter.setOrders(
            core.orders.states.count, bytes: core.orders.states.usedBytes, fullest: core.orders.states.fullest,
            worker: slot.number)
        var marks: [Int32: OrderCheckpoint.Mark] = [:]
        for (partition, offset) in committed { marks[partition] = mark(of: partition, at: offset) }
        var isWhole = true
        do throws(StoreError) {
            let slice = isLast ? OrderFolds.lastSlice : OrderFolds.saveSlice
            repeat {
                isWhole = try folds.checkpoint?.save(marks, of: &core.orders.states, limit: slice) ?? true
            } while isLast && !isWhole && !context.mustStop
        } catch {
            giveUpCheckpoint(after: error)
        }
        folds.saved(isWhole: isWhole, began: began, now: .now)
    }

    /// - Returns: nil for a state that has nothing in it and does not know yet what it lacks.
    private func mark(of partition: Int32, at offset: Int64) -> OrderCheckpoint.Mark? {
        let newest = core.orders.newest(in: partition)
        let foldedFrom: WallTime
        switch core.orders.beginning(of: partition, newest: newest) {
        case .complete: foldedFrom = .epoch
        case .since(let time): foldedFrom = time
        case .sinceNextRecord: return nil
        }
        return OrderCheckpoint.Mark(
            offset: offset,
            watermark: assignment.positions.orders[partition]?.committedWatermark ?? TimerWatermark(.epoch),
            newest: newest,
            foldedFrom: foldedFrom, recent: core.orders.states.recentRecords(of: partition, below: offset))
    }

    /// What is on the disk stays as it was, for the next start. This process does not write it again, since it no longer
    /// knows what has changed since then.
    private mutating func giveUpCheckpoint(after error: StoreError) {
        logger.warning("the state of orders is no longer saved, a restart has more to fold: \(error)")
        folds.checkpoint = nil
        for partition in folds.offsets.keys { core.orders.states.stopTracking(partition) }
    }
}
