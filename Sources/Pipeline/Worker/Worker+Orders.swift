import Extraction
import KafkaClient
import StateStore
import Telemetry

/// Where the state of the orders that a worker has in memory stands, beside what it does with it.
struct OrderFolds {
    /// By partition: the state holds every record below this offset, with nothing open. A partition that was taken away
    /// stays until the next assignment, which often gives it back.
    var offsets: [Int32: Int64] = [:]
    var report: RefoldReport?
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
            return try OrderCheckpoint(
                store, stamp: "\(configuration.topics.events) \(OrderFold.stamp(of: configuration))")
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
    ///   - first: the first offsets that the log still has.
    mutating func prepareOrders(
        _ committed: [Int32: (offset: Int64, metadata: OffsetMetadata)], first: [TopicPartition: Offset]
    ) throws {
        let topic = context.configuration.topics.events
        for partition in folds.offsets.keys where committed[partition] == nil {
            core.revoke(partition)
            folds.offsets[partition] = nil
        }
        var missing: [TopicPartition: Timestamp] = [:]
        for (partition, start) in committed.sorted(by: { $0.key < $1.key }) {
            let id = TopicPartition(topic: topic, partition: partition)
            let usable = (first[id]?.value ?? 0)...max(start.offset, first[id]?.value ?? 0)
            if let fold = folds.offsets[partition], usable.contains(fold) { continue }
            folds.offsets[partition] = loadCheckpoint(of: partition, watermark: start.metadata.watermark, usable)
            if folds.offsets[partition] == nil {
                let horizon = context.configuration.orders.horizon.wholeMilliseconds
                missing[id] = Timestamp(milliseconds: max(0, start.metadata.newestTimestamp - 2 * horizon))
            }
        }
        guard !missing.isEmpty else { return }
        // Without a newest timestamp, from the start of the log.
        let found = try consumer.offsets(at: missing, timeout: .seconds(5))
        for (id, offset) in found {
            guard let start = committed[id.partition] else { continue }
            core.assign(id.partition, watermark: start.metadata.watermark, newest: 0)
            if checkpoint != nil { core.orders.trackChanges(of: id.partition) }
            folds.offsets[id.partition] = min(max(offset.value, first[id]?.value ?? 0), start.offset)
        }
    }

    /// - Returns: the offset that the checkpoint's state belongs to; nil where there is none that can be used.
    private mutating func loadCheckpoint(
        of partition: Int32, watermark: TimerWatermark, _ usable: ClosedRange<Int64>
    ) -> Int64? {
        do throws(StoreError) {
            if let mark = checkpoint?.marks[partition], usable.contains(mark.offset) {
                core.assign(partition, watermark: watermark, newest: mark.newest)
                if try checkpoint?.load(partition, into: &core) == true {
                    core.orders.trackChanges(of: partition)
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
        guard positions.foldingCount > 0 else { return }
        let left = positions.leftToFold
        folds.report = RefoldReport(total: left)
        logger.info(
            "folds the state of orders up to the committed offsets",
            ["partitions": "\(positions.foldingCount)", "offsets": "\(left)"])
    }

    /// Folds what ``takeOver()`` has set aside, and says how far it is.
    mutating func refold() {
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
        } else if let line = folds.report?.line(left: positions.leftToFold) {
            logger.info("\(line)")
        }
        showRefold()
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
        for (partition, offset) in positions.settledFolds {
            marks[partition] = OrderCheckpoint.Mark(
                offset: offset, watermark: positions[partition]?.committedWatermark ?? TimerWatermark(0),
                newest: core.newest(in: partition))
        }
        var isWhole = true
        do throws(StoreError) {
            isWhole = try checkpoint?.save(marks, of: &core, limit: isLast ? .max : OrderFolds.saveSlice) ?? true
        } catch {
            giveUpCheckpoint(after: error)
        }
        let taken = .now - began
        folds.saving += taken
        folds.savesAt = .now + (isWhole ? max(OrderFolds.saveInterval, folds.saving * 50) : taken)
        if isWhole { folds.saving = .zero }
    }

    /// What is on the disk stays as it was, and is the next start's; this process writes it no more, since it no longer
    /// knows what has changed since then.
    private mutating func giveUpCheckpoint(after error: StoreError) {
        logger.warning("the state of orders is no longer saved, a restart has more to fold: \(error)")
        checkpoint = nil
        for partition in folds.offsets.keys { core.orders.stopTracking(partition) }
    }
}
