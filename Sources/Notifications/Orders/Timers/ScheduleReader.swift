import Digests

/// What the log of orders.events says about timers: those to come, and the outcome of those of one order or place.
///
/// Folds the records as a worker does, and lets each timer fire when it is due by the records' timestamps, up to the
/// partition's watermark. For the past it reports what a pipeline without delays would have done; for the future, what
/// is known now. One owner; writes nothing.
package struct ScheduleReader: ~Copyable {
    package struct Timer: Equatable, Sendable {
        package enum State: String, Sendable {
            /// It is still to come.
            case pending
            /// Its time has passed, and nothing in the log stopped it. Whether it was sent also depended on outages and
            /// on the subscriptions.
            case gone
            case dropped
        }

        package var due: WallTime
        package var kind: TimerKind
        package var orderID: String
        package var place: String
        package var partition: Int32
        package var state: State
        /// Why it was dropped; for a pending timer, why it will be dropped if nothing changes until then.
        package var reason: String?
    }

    /// Whose timers are reported; nil: all.
    package struct Filter: Sendable {
        package var order: String?
        package var place: String?

        package init(order: String? = nil, place: String? = nil) {
            self.order = order
            self.place = place
        }

        /// Without a filter only the timers to come are reported: those of the past have no bound.
        var includesPast: Bool { order != nil || place != nil }

        func matches(order: String, place: String) -> Bool {
            (self.order == nil || self.order == order) && (self.place == nil || self.place == place)
        }
    }

    private let filter: Filter
    private let orderID: [UInt8]?
    private let orderHash: StoredHash
    private var extractor: Extractor
    private var orders: OrderStates
    /// The current records.
    package var batch: EventBatch
    private var watermarks: [Int32: TimerWatermark] = [:]
    private var timers: [Timer] = []

    /// - Parameter topic: the name of orders.events.
    package init(rules: ExtractionRules, orders: OrderRules, topic: String, filter: Filter) {
        self.filter = filter
        orderID = filter.order.map { Array($0.utf8) }
        orderHash = Array((filter.order ?? "").utf8).withUnsafeBytes(StoredHash.init(of:))
        extractor = Extractor(rules: rules)
        self.orders = OrderStates(rules: orders, zones: rules)
        batch = EventBatch(.orders, topic: topic)
    }

    /// Begins a partition.
    ///
    /// - Parameters:
    ///   - watermark: timers due at or before it have been processed.
    ///   - now: the clock; the records were written before.
    package mutating func begin(_ partition: Int32, watermark: TimerWatermark, now: WallTime) {
        orders.assign(partition, watermark: TimerWatermark(.epoch), newest: .epoch)
        orders.beginFold(of: partition, latest: RecordTime.latest(at: now))
        watermarks[partition] = watermark
    }

    /// Folds the records of ``batch``, in the order of the log. Skips those of partitions that were not begun.
    package mutating func foldBatch() {
        for index in batch.records.indices {
            if batch.isFull {
                batch.notifications.removeAll(keepingCapacity: true)
                batch.text.removeAll()
            }
            fold(index)
        }
    }

    private mutating func fold(_ index: Int) {
        let record = batch.records[index]
        guard let partition = orders[record.partition], let watermark = watermarks[record.partition] else { return }
        if let time = record.timestamp, time > partition.newest, time <= partition.foldLimit ?? time {
            play(partition, until: TimerWatermark(min(time - 1, watermark.time)))
        }
        orders.begin(record)
        let before = watched(in: partition)
        _ = extractor.extract(index, in: &batch, history: &orders)
        orders.commit()
        if orderID != nil { compare(before, watched(in: partition), in: partition) }
    }

    /// Ends the report: everything has been read.
    ///
    /// - Returns: the timers, by time, partition and order.
    package consuming func finish() -> [Timer] {
        for (number, watermark) in watermarks {
            guard let partition = orders[number] else { continue }
            play(partition, until: watermark)
            partition.watermark = watermark
            partition.due = nil
            for timer in partition.dueTimers(until: .distantFuture) { note(timer, of: partition, isPending: true) }
        }
        return timers.sorted {
            ($0.due, $0.partition, $0.orderID, $0.kind.rawValue) < ($1.due, $1.partition, $1.orderID, $1.kind.rawValue)
        }
    }

    private mutating func play(_ partition: PartitionOrders, until end: TimerWatermark) {
        while partition.watermark < end, partition.earliestDue <= (end.split == nil ? end.time : end.time + 1) {
            let now = max(partition.earliestDue, partition.watermark.time + 1)
            // In a split instant, some timers have fired.
            let reached = min(TimerWatermark(now), end)
            if filter.includesPast {
                for timer in partition.dueTimers(until: now) where timer.watermark <= reached {
                    note(timer, of: partition, isPending: false)
                }
            }
            partition.due = nil
            orders.fired(partition: partition.partition, upTo: reached)
            orders.commit()
        }
    }

    private mutating func note(_ timer: DueTimer, of partition: PartitionOrders, isPending: Bool) {
        let order = OrderDraft(reading: partition.table.block(timer.order))
        let (id, place) = (String(decoding: order.id, as: UTF8.self), String(decoding: order.place, as: UTF8.self))
        guard filter.matches(order: id, place: place),
            let decision = partition.decide(timer, until: timer.due, clock: timer.due)
        else { return }
        var reason: String?
        if case .failure(let drop) = decision { reason = drop.drop.label }
        timers.append(
            Timer(
                due: timer.due, kind: timer.kind, orderID: id, place: place, partition: partition.partition,
                state: isPending ? .pending : reason == nil ? .gone : .dropped, reason: reason))
    }

    // MARK: How an event changes the timers of its order

    private struct Watched {
        var timers: OrderTimers
        var place: String
        var isTerminal: Bool
    }

    /// The order that was asked for, as far as this partition knows it.
    private func watched(in partition: PartitionOrders) -> Watched? {
        let name = orderID?.withUnsafeBytes { partition.table.find($0).name } ?? 0
        guard name != 0 else { return nil }
        let order = OrderDraft(reading: partition.table.block(name))
        return Watched(
            timers: OrderTimers(order.header, spread: partition.spread(of: order.place)),
            place: String(decoding: order.place, as: UTF8.self),
            isTerminal: order.header.flags.contains(.isTerminal))
    }

    /// Timers that will not fire because of an event: the order ended, its slot moved or had begun, or the event made the
    /// partition forget the order.
    private mutating func compare(_ before: Watched?, _ after: Watched?, in partition: PartitionOrders) {
        guard after != nil || orders.cancelled.forgottenOrders > 0,
            before?.timers.nominal(.slotStart) != after?.timers.nominal(.slotStart)
        else { return }
        if let before, !before.timers.isEmpty {
            let reason =
                switch after {
                case nil: TimerDrop.forgotten.label
                case let after? where after.isTerminal: TimerDrop.ended.label
                case let after? where after.timers.isEmpty: TimerDrop.noSlot.label
                case .some: "moved"
                }
            for kind in TimerKind.allCases
            where before.timers.isPending(kind, after: partition.watermark, hash: orderHash) {
                drop(kind, of: before, because: reason, in: partition)
            }
        }
        guard let after, !after.timers.isEmpty else { return }
        for kind in TimerKind.allCases where !after.timers.isSetInTime(kind) {
            drop(kind, of: after, because: TimerDrop.alreadyStarted.label, in: partition)
        }
    }

    private mutating func drop(
        _ kind: TimerKind, of order: Watched, because reason: String, in partition: PartitionOrders
    ) {
        guard let id = filter.order, filter.matches(order: id, place: order.place) else { return }
        timers.append(
            Timer(
                due: order.timers.due(kind), kind: kind, orderID: id, place: order.place,
                partition: partition.partition, state: .dropped, reason: reason))
    }
}
