import NotificationPayload
import OrderState

extension PipelineCore {
    /// The earliest time at which a timer of this partition may be due, in milliseconds since 1970; none is due before it.
    package func nextDue(in partition: Int32) -> Int64 { orders[partition]?.earliestDue ?? .max }

    /// The newest timestamp of a record of this partition, in milliseconds since 1970.
    package func newest(in partition: Int32) -> Int64 { orders[partition]?.newest ?? 0 }

    /// Whether a timer of this partition is due. Scans every order, but only once ``nextDue(in:)`` has passed.
    package func isDue(in partition: Int32, at time: Int64) -> Bool {
        guard let orders = orders[partition], orders.earliestDue <= time else { return false }
        orders.updateEarliestDue()
        return orders.earliestDue <= time
    }

    /// Commits what was emitted and fired.
    package mutating func commit() {
        orders.commit(keeping: cursor.notEmitted)
    }

    /// Rolls back what was extracted and fired since the last commit: the records come again.
    package mutating func rollBack() {
        orders.rollBack()
        cursor.restart()
    }

    /// Begins an assigned partition with an empty state of orders.
    package mutating func assign(
        _ partition: Int32, watermark: TimerWatermark, newest: Int64, beginning: FoldBeginning = .whole
    ) {
        orders.assign(partition, watermark: watermark, newest: newest, beginning: beginning)
    }

    /// What the fold of a partition's orders lacks, as of a newest timestamp; ``FoldBeginning/whole`` where it covers two
    /// horizons.
    package func beginning(of partition: Int32, newest: Int64) -> FoldBeginning {
        guard let orders = orders[partition] else { return .whole }
        let isIncomplete = orders.beginning.isIncomplete(newest: newest, horizon: orders.limits.horizon * 1_000)
        return isIncomplete ? orders.beginning : .whole
    }

    /// Continues at the committed offset, up to which the partition has been folded, with what was committed there.
    ///
    /// - Returns: the newest timestamp of the partition's records; at least `newest`.
    @discardableResult
    package mutating func resume(_ partition: Int32, watermark: TimerWatermark, newest: Int64 = 0) -> Int64 {
        guard let orders = orders[partition] else { return newest }
        orders.resume(watermark: watermark, newest: newest)
        return orders.newest
    }

    /// Forgets a partition that another worker owns now.
    package mutating func revoke(_ partition: Int32) { orders.revoke(partition) }
}

/// What a push has in common with the newer one that supersedes it.
struct SupersededPush: Hashable {
    var partition: Int32
    var orderID: String
    var type: EventType
}
