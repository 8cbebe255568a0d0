import Events
import KafkaClient
import OrderState
import StateStore
import Telemetry

/// Where the state of the orders that a worker has in memory stands, beside what it does with it.
struct OrderFolds {
    /// By partition: the state holds every record below this offset, with nothing open. A partition that was taken away
    /// stays until the next assignment, which often gives it back.
    var offsets: [Int32: Int64] = [:]
    var report: RefoldReport?
    /// The partitions whose incomplete state has been told of, and what it lacks.
    var told: [Int32: FoldBeginning] = [:]
    /// The partitions whose state became whole with the batch at hand.
    var finished: [Int32] = []
    var savesAt = ContinuousClock.now
    /// How long the slices of the checkpoint at hand have taken.
    var saving = Duration.zero

    static let saveInterval = Duration.seconds(10)
    /// How many orders are written at once, and how long events wait for it: some 50 ms.
    static let saveSlice = 10_000
}

extension Worker {
    /// Opens the checkpoint of this worker's orders; without one they are folded from the log.
    static func openCheckpoint(slot: Slot, context: WorkerContext, logger: Logger) -> OrderCheckpoint? {
        let configuration = context.configuration
        do throws(StoreError) {
            let path = StateFolder.orders(in: configuration.stateDirectory, worker: slot.number)
            let (store, opening) = try DiskStore.open(path)
            if case .wiped(let reason) = opening { logger.notice("the state of orders is folded anew: \(reason)") }
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

    /// Makes sure that each partition has a state to fold on from: the one in memory, the checkpoint's, or an empty one
    /// two horizons before the newest record below the committed offset. Can be repeated.
    ///
    /// - Parameters:
    ///   - committed: where the partitions go on.
    ///   - log: what the log has of them.
    /// - Throws: a `KafkaError` where the log does not answer: nothing is taken over from the checkpoint unseen.
    mutating func prepareOrders(
        _ committed: [Int32: (offset: Int64, metadata: OffsetMetadata)], log: LogBounds
    ) throws {
        for partition in folds.offsets.keys where committed[partition] == nil {
            core.revoke(partition)
            folds.offsets[partition] = nil
            folds.told[partition] = nil
        }
        let topic = context.configuration.topics.events
        var needed: [TopicPartition: ClosedRange<Int64>] = [:]
        for (partition, start) in committed {
            let id = TopicPartition(topic: topic, partition: partition)
            let first = log.first[id]?.value ?? 0
            let usable = first...max(start.offset, first)
            if let fold = folds.offsets[partition], usable.contains(fold) { continue }
            needed[id] = usable
        }
        let foreign = try foreignCheckpoints(of: needed, log: log)
        var missing: [TopicPartition: Timestamp] = [:]
        for (id, usable) in needed.sorted(by: { $0.key < $1.key }) {
            guard let metadata = committed[id.partition]?.metadata else { continue }
            folds.offsets[id.partition] = loadCheckpoint(
                of: id.partition, watermark: metadata.watermark, foreign.contains(id) ? nil : usable)
            if folds.offsets[id.partition] == nil {
                let horizon = context.configuration.orders.horizon.wholeMilliseconds
                missing[id] = Timestamp(milliseconds: max(0, metadata.newestTimestamp - 2 * horizon))
            }
        }
        guard !missing.isEmpty else { return }
        // Without a newest timestamp, from the start of the log.
        let found = try consumer.offsets(at: missing, timeout: .seconds(5))
        // Asked behind it: what retention removes in between would not be noticed else.
        let first = try consumer.startOffsets(Array(missing.keys), timeout: .seconds(5))
        for (id, offset) in found {
            guard let start = committed[id.partition] else { continue }
            beginFold(of: id.partition, at: offset.value, first: first[id]?.value ?? 0, upTo: start)
        }
    }

    private mutating func beginFold(
        of partition: Int32, at offset: Int64, first: Int64, upTo start: (offset: Int64, metadata: OffsetMetadata)
    ) {
        let beginning = FoldBeginning(
            at: offset, first: first, committed: start.offset, newest: start.metadata.newestTimestamp)
        core.assign(partition, watermark: start.metadata.watermark, newest: 0, beginning: beginning)
        if checkpoint != nil { core.orders.trackChanges(of: partition) }
        folds.offsets[partition] = min(max(offset, first), start.offset)
    }

    /// The partitions whose checkpoint is of another log, by the records that it remembers: said, in one line each.
    ///
    /// - Parameter partitions: with the offsets that the checkpoint may stand at.
    private mutating func foreignCheckpoints(
        of partitions: [TopicPartition: ClosedRange<Int64>], log: LogBounds
    ) throws(KafkaError) -> Set<TopicPartition> {
        var recent: [TopicPartition: RecentFingerprints] = [:]
        for (id, usable) in partitions {
            guard let mark = checkpoint?.marks[id.partition], usable.contains(mark.offset) else { continue }
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

    /// - Parameter usable: the offsets at which it may stand; nil: none.
    /// - Returns: the offset that the checkpoint's state belongs to; nil where there is none that can be used.
    private mutating func loadCheckpoint(
        of partition: Int32, watermark: TimerWatermark, _ usable: ClosedRange<Int64>?
    ) -> Int64? {
        do throws(StoreError) {
            if let mark = checkpoint?.marks[partition], usable?.contains(mark.offset) == true {
                core.assign(partition, watermark: watermark, newest: mark.newest, beginning: mark.beginning)
                if try checkpoint?.load(partition, into: &core.orders) == true {
                    core.orders.trackChanges(of: partition, recent: mark.recent)
                    return mark.offset
                }
            }
            try checkpoint?.remove(partition)
        } catch {
            giveUpCheckpoint(after: error)
        }
        return nil
    }

    /// Begins to fold what the states lack, once the positions are known.
    mutating func beginRefold() {
        folds.report = nil
        for partition in positions.owned where positions[partition]?.isFolding == false { finishFold(of: partition) }
        showRefold()
        guard positions.foldingCount > 0 else { return reportIncomplete() }
        let left = positions.leftToFold
        folds.report = RefoldReport(total: left)
        logger.info(
            "folds the state of orders up to the committed offsets",
            ["partitions": "\(positions.foldingCount)", "offsets": "\(left)"])
    }

    /// Folds what ``takeOver()`` has set aside, and says how far it is.
    mutating func refold() throws {
        guard folds.report != nil else { return }
        if !refoldBatch.records.isEmpty {
            core.refold(&refoldBatch, isOpen: transaction != nil)
            folds.report?.add(refoldBatch.records.count)
            context.meter.count { $0.refolded += refoldBatch.records.count }
        }
        if transaction == nil { positions.settleFolds() }
        for partition in folds.finished { finishFold(of: partition) }
        folds.finished.removeAll(keepingCapacity: true)
        if positions.foldingCount == 0 {
            if let line = folds.report?.end() { logger.info("\(line)") }
            folds.report = nil
            reportIncomplete()
        } else if let line = folds.report?.line(left: positions.leftToFold) {
            logger.info("\(line)")
        }
        showRefold()
        if positions.foldingCount > 0, !refoldBatch.records.isEmpty {
            try context.reach(.inRefold, worker: slot.number)
        }
    }

    private func showRefold() {
        let left = positions.leftToFold
        context.meter.setRefold(Int(left), worker: slot.number)
        context.board.set(positions.foldingCount > 0 ? .refolding : .reading, worker: slot.number)
    }

    /// The state is that of the committed offset: it goes on with what is committed there.
    private mutating func finishFold(of partition: Int32) {
        guard let position = positions[partition] else { return }
        let newest = core.resume(
            partition, watermark: position.committedWatermark, newest: position.newestTimestamp)
        positions.raiseNewest(partition: partition, to: newest)
    }

    /// Warns of the partitions whose state may lack something, once for each.
    private mutating func reportIncomplete() {
        var known: [String] = []
        let now = context.clock.now()
        let horizon = context.configuration.orders.horizon.wholeMilliseconds
        for partition in positions.owned {
            let newest = positions[partition]?.newestTimestamp ?? 0
            let beginning = core.beginning(of: partition, newest: newest)
            guard beginning.isWorthTelling(newest: newest, now: now, horizon: horizon),
                folds.told.updateValue(beginning, forKey: partition) != beginning
            else { continue }
            switch beginning {
            case .whole: continue
            case .nextRecord: known.append("\(partition): from its next record on")
            case .record(let time): known.append("\(partition): since \(LogTime(milliseconds: time).iso8601)")
            }
        }
        guard !known.isEmpty else { return }
        logger.warning(
            "the log no longer has two horizons of events: what is known of orders is incomplete (state.horizon)",
            ["known": known.joined(separator: ", ")])
    }

    /// Remembers where the states stand, before the positions are forgotten or found anew.
    mutating func noteFolds() {
        core.rollBack()
        // While an assignment is being prepared, the states may be newer than the positions.
        guard assignment.isDone else { return }
        folds.offsets.merge(positions.settledFolds) { $1 }
    }

    /// Writes the checkpoint when it is due and nothing is open: every 10 s, or so much less often that it takes no more
    /// than a fiftieth of the time. What is much goes slice by slice, with as much time for events in between.
    mutating func saveOrders(isLast: Bool = false) {
        guard transaction == nil, assignment.isDone, isLast || .now >= folds.savesAt, core.orders.isSettled else {
            return
        }
        let began = ContinuousClock.now
        context.meter.setOrders(core.orders.count, bytes: core.orders.usedBytes, worker: slot.number)
        var marks: [Int32: OrderCheckpoint.Mark] = [:]
        for (partition, offset) in positions.settledFolds { marks[partition] = mark(of: partition, at: offset) }
        var isWhole = true
        do throws(StoreError) {
            isWhole = try checkpoint?.save(marks, of: &core.orders, limit: isLast ? .max : OrderFolds.saveSlice) ?? true
        } catch {
            giveUpCheckpoint(after: error)
        }
        let taken = .now - began
        folds.saving += taken
        folds.savesAt = .now + (isWhole ? max(OrderFolds.saveInterval, folds.saving * 50) : taken)
        if isWhole { folds.saving = .zero }
    }

    /// - Returns: nil for a state that has nothing in it and does not know yet what it lacks.
    private func mark(of partition: Int32, at offset: Int64) -> OrderCheckpoint.Mark? {
        let newest = core.newest(in: partition)
        let foldedFrom: Int64
        switch core.beginning(of: partition, newest: newest) {
        case .whole: foldedFrom = 0
        case .record(let time): foldedFrom = time
        case .nextRecord: return nil
        }
        return OrderCheckpoint.Mark(
            offset: offset, watermark: positions[partition]?.committedWatermark ?? TimerWatermark(0), newest: newest,
            foldedFrom: foldedFrom, recent: core.orders.recentRecords(of: partition, below: offset))
    }

    /// What is on the disk stays as it was, and is the next start's; this process writes it no more, since it no longer
    /// knows what has changed since then.
    private mutating func giveUpCheckpoint(after error: StoreError) {
        logger.warning("the state of orders is no longer saved, a restart has more to fold: \(error)")
        checkpoint = nil
        for partition in folds.offsets.keys { core.orders.stopTracking(partition) }
    }
}
