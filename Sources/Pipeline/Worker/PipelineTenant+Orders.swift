import KafkaClient
import StateStore
import Streaming

extension PipelineTenant {
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
        _ committed: [Int32: CommittedPosition], log: LogBounds, _ member: inout any MemberClient & ~Copyable
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
        let found = try member.offsets(at: missing, timeout: .seconds(5))
        // Queried after it: what retention removes in between would otherwise not be noticed.
        let first = try member.startOffsets(Array(missing.keys), timeout: .seconds(5))
        for (id, offset) in found {
            guard let start = committed[id.partition] else { continue }
            beginFold(of: id.partition, at: offset.value, first: first[id]?.value ?? 0, upTo: start)
        }
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
            recent, starts: log.first, ends: log.end, settings: context.configuration.kafka, by: context.clients,
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

    /// Begins to fold what the states lack, at the positions.
    mutating func beginRefold() {
        hasGoneBack = false
        // What is folded up to the committed offsets was processed before, by clocks that are not known here.
        let latest = RecordTime.latest(at: context.clock.now())
        for partition in positions.orders.owned { core.orders.states.beginFold(of: partition, latest: latest) }
        for partition in positions.orders.owned where positions.orders[partition]?.isFolding == false {
            finishFold(of: partition)
        }
        let left = positions.orders.leftToFold
        refolding = left > 0 ? RefoldReport(total: left, now: context.now) : nil
        context.meter.setRefold(Int(left), worker: slot.number)
        guard left > 0 else { return reportIncomplete() }
        logger.info(
            "folds the state of orders up to the committed offsets",
            ["partitions": "\(positions.orders.foldingCount)", "offsets": "\(left)"])
    }

    /// Folds the records that were set aside for it.
    mutating func refold() throws {
        guard refolding != nil else { return }
        let records = intake.refoldBatch.records.count
        if records > 0 {
            core.refold(&intake.refoldBatch, isOpen: transactions.open != nil)
            context.meter.count { $0.refolded += records }
        }
        folded(records, intake.takeFinishedFolds())
        if refolding != nil, records > 0 { try context.reach(.inRefold, worker: slot.number) }
    }

    /// The partition was read to its end: what follows the last record are a transaction's marks.
    mutating func foldedToEnd(_ partition: Int32, _ offset: Int64) {
        guard refolding != nil, positions.orders.fold(partition: partition, upTo: offset) else { return }
        folded(0, [partition])
    }

    /// - Parameter finished: the partitions whose states are those of the committed offsets now.
    private mutating func folded(_ records: Int, _ finished: [Int32]) {
        if transactions.open == nil { positions.orders.commitFolds() }
        for partition in finished { finishFold(of: partition) }
        let left = positions.orders.leftToFold
        refolding?.add(records)
        if positions.orders.foldingCount == 0 {
            if let report = refolding { logger.info("\(report.end(now: context.now))") }
            refolding = nil
            reportIncomplete()
        } else if let line = refolding?.line(left: left, now: context.now) {
            logger.info("\(line)")
        }
        context.meter.setRefold(Int(left), worker: slot.number)
    }

    /// The state is that of the committed offset: it continues with what is committed there.
    private mutating func finishFold(of partition: Int32) {
        guard let position = positions.orders[partition] else { return }
        let newest = core.orders.resume(
            partition, watermark: position.committedWatermark, newest: position.newestTimestamp)
        positions.orders.raiseNewest(partition: partition, to: newest)
    }

    /// Warns of the partitions whose state may lack something, once for each.
    private mutating func reportIncomplete() {
        var known: [String] = []
        let now = context.clock.now()
        let horizon = context.configuration.orders.horizon.wholeMilliseconds
        for partition in positions.orders.owned {
            let newest = positions.orders[partition]?.newestTimestamp ?? .epoch
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

    /// Writes the checkpoint when it is due and no transaction is open: every 10 s, or so much less often that it takes no
    /// more than a fiftieth of the time. A large one is written in slices, with as much time for events in between.
    mutating func saveOrders(isLast: Bool = false) {
        guard transactions.open == nil, !positions.isEmpty, isLast || context.now >= folds.savesAt else { return }
        if intake.next < intake.extracted {
            core.rollBack()
            intake.extracted = intake.next
        }
        guard core.orders.states.isCommitted else { return }
        let began = context.now
        context.meter.setOrders(
            core.orders.states.count, bytes: core.orders.states.usedBytes, fullest: core.orders.states.fullest,
            worker: slot.number)
        var marks: [Int32: OrderCheckpoint.Mark] = [:]
        for (partition, offset) in positions.orders.committedFolds {
            marks[partition] = mark(of: partition, at: offset)
        }
        var isWhole = true
        do throws(StoreError) {
            let slice = isLast ? OrderFolds.lastSlice : OrderFolds.saveSlice
            repeat {
                isWhole = try folds.checkpoint?.save(marks, of: &core.orders.states, limit: slice) ?? true
            } while isLast && !isWhole && !context.mustStop
        } catch {
            giveUpCheckpoint(after: error)
        }
        folds.saved(isWhole: isWhole, began: began, now: context.now)
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
            watermark: positions.orders[partition]?.committedWatermark ?? TimerWatermark(.epoch),
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
