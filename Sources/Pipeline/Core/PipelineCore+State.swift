import NotificationPayload
import OrderState

extension PipelineCore {
    /// When a timer of this partition may be due, in milliseconds since 1970; nothing is before it.
    package func nextDue(in partition: Int32) -> Int64 { orders[partition]?.earliestDue ?? .max }

    /// The newest timestamp of a record of this partition, in milliseconds since 1970.
    package func newest(in partition: Int32) -> Int64 { orders[partition]?.newest ?? 0 }

    /// Whether a timer of this partition is due. Looks at every order, but only where ``nextDue(in:)`` says maybe.
    package func isDue(in partition: Int32, at time: Int64) -> Bool {
        guard let orders = orders[partition], orders.earliestDue <= time else { return false }
        orders.updateEarliestDue()
        return orders.earliestDue <= time
    }

    /// What was emitted and fired is committed.
    package mutating func commit() {
        orders.commit(keeping: cursor.notEmitted)
    }

    /// What was extracted and fired since the last commit never was: the records come again.
    package mutating func rollBack() {
        orders.rollBack()
        cursor.restart()
    }

    /// Begins a partition that was assigned, with nothing known of its orders.
    package mutating func assign(
        _ partition: Int32, watermark: TimerWatermark, newest: Int64, beginning: FoldBeginning = .whole
    ) {
        orders.assign(partition, watermark: watermark, newest: newest, beginning: beginning)
    }

    /// What the fold of a partition's orders lacks, as of a newest timestamp; ``FoldBeginning/whole`` where it is two
    /// horizons long.
    package func beginning(of partition: Int32, newest: Int64) -> FoldBeginning {
        guard let orders = orders[partition] else { return .whole }
        let isIncomplete = orders.beginning.isIncomplete(newest: newest, horizon: orders.limits.horizon * 1_000)
        return isIncomplete ? orders.beginning : .whole
    }

    /// Goes on at the committed offset, where the partition has been folded to, with what was committed there.
    ///
    /// - Returns: the newest timestamp of the partition's records; at least `newest`.
    @discardableResult
    package mutating func resume(_ partition: Int32, watermark: TimerWatermark, newest: Int64 = 0) -> Int64 {
        guard let orders = orders[partition] else { return newest }
        orders.resume(watermark: watermark, newest: newest)
        return orders.newest
    }

    /// Forgets a partition that another worker has now.
    package mutating func revoke(_ partition: Int32) { orders.revoke(partition) }
}

/// What makes one push newer than another.
struct SupersededPush: Hashable {
    var partition: Int32
    var orderID: String
    var type: EventType
}
