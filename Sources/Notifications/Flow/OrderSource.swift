/// The source of notifications that reads order events: the extraction with the state of orders that it asks, and their
/// timers.
///
/// What it has extracted or fired is provisional until ``commit(keeping:)``.
package struct OrderSource: ~Copyable {
    var extractor: Extractor
    /// What is known of the orders of the owned partitions, up to the last record that was extracted.
    package var states: OrderStates

    init(rules: ExtractionRules, orders: OrderRules) {
        extractor = Extractor(rules: rules)
        states = OrderStates(rules: orders, zones: rules)
    }

    // MARK: Events

    /// The latest time that a record may count as (``RecordTime``).
    package var latestTime: WallTime {
        get { states.latestTime }
        set { states.latestTime = newValue }
    }

    /// Extracts the next record, and says which timers it cancelled.
    mutating func extract(
        _ record: Int, in batch: inout EventBatch
    ) -> (outcome: ExtractionOutcome, cancelled: CancelledTimers) {
        states.begin(batch.records[record])
        let outcome = extractor.extract(record, in: &batch, history: &states)
        return (outcome, states.cancelled)
    }

    /// The irregularities of the events that were extracted since the last call.
    mutating func takeNotes() -> ExtractionNotes {
        defer { extractor.notes = ExtractionNotes() }
        return extractor.notes
    }

    // MARK: Commits

    /// Commits what was extracted and fired, but the latest `records` records.
    mutating func commit(keeping records: Int) { states.commit(keeping: records) }

    /// Rolls back what was extracted and fired since the last commit.
    mutating func rollBack() { states.rollBack() }

    // MARK: Partitions

    /// Begins an assigned partition with an empty state of orders.
    package mutating func assign(
        _ partition: Int32, watermark: TimerWatermark, newest: WallTime, beginning: FoldBeginning = .complete
    ) {
        states.assign(partition, watermark: watermark, newest: newest, beginning: beginning)
    }

    /// Continues at the committed offset, up to which the partition has been folded, with what was committed there.
    ///
    /// - Returns: the newest timestamp of the partition's records; at least `newest`.
    @discardableResult
    package mutating func resume(_ partition: Int32, watermark: TimerWatermark, newest: WallTime = .epoch) -> WallTime {
        guard let orders = states[partition] else { return newest }
        orders.resume(watermark: watermark, newest: newest)
        return orders.newest
    }

    /// Forgets a partition that another worker owns now.
    package mutating func revoke(_ partition: Int32) { states.revoke(partition) }

    /// What the fold of a partition's orders lacks, as of a newest timestamp; ``FoldBeginning/complete`` where it covers two
    /// horizons.
    package func beginning(of partition: Int32, newest: WallTime) -> FoldBeginning {
        guard let orders = states[partition] else { return .complete }
        let isIncomplete = orders.beginning.isIncomplete(newest: newest, horizon: orders.limits.horizon * 1_000)
        return isIncomplete ? orders.beginning : .complete
    }

    /// The newest timestamp of a record of this partition; 1970 without one.
    package func newest(in partition: Int32) -> WallTime { states[partition]?.newest ?? .epoch }

    // MARK: Timers

    /// The earliest time at which a timer of this partition may be due; none is due before it.
    package func nextDue(in partition: Int32) -> WallTime { states[partition]?.earliestDue ?? .distantFuture }

    /// Whether a timer of this partition is due. Scans every order, but only once ``nextDue(in:)`` has passed.
    package func isDue(in partition: Int32, at time: WallTime) -> Bool {
        guard let orders = states[partition], orders.earliestDue <= time else { return false }
        orders.updateEarliestDue()
        return orders.earliestDue <= time
    }
}
