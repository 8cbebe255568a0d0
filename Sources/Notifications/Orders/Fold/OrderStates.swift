/// The state of the orders of every partition that a worker owns; it can roll back to the last commit.
///
/// A partition without ``assign(_:watermark:newest:)`` has no state: each of its events is handled on its own. One
/// owner; allocates nothing per event once its memory is large enough.
package struct OrderStates: ~Copyable, OrderHistory {
    private let limits: OrderLimits
    private let zones: ExtractionRules
    private var partitions: [PartitionOrders?] = []
    private var current: PartitionOrders?
    private var undo = UndoLog()
    /// The latest time that a record may count as (``RecordTime``).
    package var latestTime = WallTime.distantFuture
    /// Whether a record that was processed counted as earlier than its timestamp. It would count as another time in a
    /// transaction with another clock. Whoever reads it sets it back.
    package var hasBoundedTimes = false
    /// The timers that the latest event cancelled.
    package private(set) var cancelled = CancelledTimers()

    package init(rules: OrderRules, zones: ExtractionRules) {
        limits = OrderLimits(rules)
        self.zones = zones
    }

    /// Begins a partition with an empty state.
    ///
    /// - Parameters:
    ///   - watermark: its timer watermark.
    ///   - newest: the newest timestamp of its records so far.
    ///   - beginning: what is missing from the fold that follows.
    package mutating func assign(
        _ partition: Int32, watermark: TimerWatermark, newest: WallTime, beginning: FoldBeginning = .complete
    ) {
        if partitions.count <= Int(partition) {
            partitions.append(contentsOf: repeatElement(nil, count: Int(partition) + 1 - partitions.count))
        }
        partitions[Int(partition)] = PartitionOrders(
            partition: partition, watermark: watermark, newest: newest, beginning: beginning, limits: limits,
            zones: zones)
        current = nil
    }

    /// Until the partition is resumed, its records have been processed before, by transactions whose clocks were at least
    /// an hour before `latest`. One with a later time was bounded then: it counts as the newest record before it.
    package mutating func beginFold(of partition: Int32, latest: WallTime) {
        self[partition]?.foldLimit = latest
    }

    package mutating func revoke(_ partition: Int32) {
        guard Int(partition) < partitions.count else { return }
        partitions[Int(partition)] = nil
        current = nil
    }

    package subscript(partition: Int32) -> PartitionOrders? {
        partitions.indices.contains(Int(partition)) ? partitions[Int(partition)] : nil
    }

    // MARK: Event by event

    /// Call it first for every record of the log, whatever its outcome.
    package mutating func begin(_ record: EventRecord) {
        undo.beginEvent()
        cancelled = CancelledTimers()
        if current?.partition != record.partition { current = self[record.partition] }
        guard let current else { return }
        current.begin(record, latest: latestTime, undo: &undo)
        if let timestamp = record.timestamp, timestamp > latestTime { hasBoundedTimes = true }
    }

    package mutating func consider(_ event: OrderFacts) -> OrderVerdict {
        // The time of an event whose record has none.
        if event.time > latestTime { hasBoundedTimes = true }
        return current?.consider(event, undo: &undo) ?? OrderVerdict()
    }

    package mutating func apply(_ event: OrderFacts) {
        if let current { cancelled = current.apply(event, undo: &undo) }
    }

    // MARK: Transactions

    /// Commits everything folded except the newest `open` records.
    package mutating func commit(keeping open: Int = 0) {
        undo.commit(keeping: open)
        guard undo.isEmpty else { return }
        for partition in partitions { partition?.commit() }
    }

    /// Rolls back everything that is not committed.
    package mutating func rollBack() {
        let partitions = partitions
        for partition in partitions { partition?.due = nil }
        undo.takeBack { partition, entry, text in
            partitions[Int(partition)]?.restore(entry, text: text)
        }
    }

    /// No transaction is open: the state is that of the committed offsets.
    package var isCommitted: Bool { undo.isEmpty }

    package mutating func fired(partition: Int32, upTo watermark: TimerWatermark) {
        undo.beginEvent()
        self[partition]?.fired(upTo: watermark, undo: &undo)
    }

    // MARK: Sizes

    /// The number of orders remembered.
    package var count: Int { partitions.reduce(0) { $0 + ($1?.table.count ?? 0) } }
    /// The memory of these orders, in bytes.
    package var usedBytes: Int {
        partitions.reduce(0) { $0 + ($1?.table.usedBytes ?? 0) + ($1?.changes?.usedBytes ?? 0) }
    }
    /// How much of the limit the orders of the fullest partition count as, from 0 to 1.
    package var fullest: Double {
        let counted = partitions.reduce(0) { max($0, $1?.table.countedBytes ?? 0) }
        return Double(counted) / Double(limits.maxBytes)
    }
}
