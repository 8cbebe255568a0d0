import KafkaClient
import Notifications

/// The header of a request that waits for the table (docs/rules.md §8.11).
package enum AfterHeader {
    package static let name = "after"

    /// The offset of a command, which its value is: 1 to 18 digits; nil: it is not.
    package static func offset(_ value: some Collection<UInt8>) -> Int64? {
        value.count <= 18 ? Int64(digits: value) : nil
    }
}

/// Requests that wait until the table has what was written before they were read.
struct TableWait {
    /// Of ``TableGate/writes``.
    let request: Int
    let since: ContinuousClock.Instant
    /// The open transaction has begun since it is over, and so sees what was waited for.
    var isSeen = false
}

/// Requests wait as a batch, so that they stay in their order; orders and timers go on. It decides when a request is sent,
/// never what: the journal has the table's offsets.
extension PipelineTenant {
    /// Whether the requests of a batch that nothing was taken of wait still.
    mutating func mustWait(_ records: borrowing RecordBatch) -> Bool {
        if tableWait == nil, mayWait, asksToWait(records) {
            tableWait = TableWait(request: context.gate.writes.request(), since: context.now)
        }
        guard let wait = tableWait else { return false }
        guard transactions.open == nil ? isOver(wait) : wait.isSeen else { return true }
        tableWait = nil
        guard !context.gate.writes.isPassed(wait.request) else { return false }
        overdue = wait.request
        if context.patience.isDue("after") {
            logger.warning(
                "requests that wait for the subscriptions are sent: the table does not have what was written before them "
                    + "after subscriptions.max-lag")
        }
        return false
    }

    /// What is only folded has been sent, and waits for nothing.
    private func asksToWait(_ records: borrowing RecordBatch) -> Bool {
        guard !records.headers.isEmpty else { return false }
        for index in 0..<records.count {
            let record = records[index]
            // Which command it is does not matter.
            let asks = records.headers[record.headers].contains {
                $0.name.elementsEqual(AfterHeader.name.utf8) && $0.value.flatMap { AfterHeader.offset($0) } != nil
            }
            if asks, positions.requests.accepts(partition: record.partition, offset: record.offset) { return true }
        }
        return false
    }

    /// As long as the table does not have what was waited for in vain, nobody waits for more; without a table nobody does.
    private var mayWait: Bool {
        context.gate.writes.isPassed(overdue) && !context.gate.writes.isPassed(.max)
    }

    func isOver(_ wait: TableWait) -> Bool {
        context.gate.writes.isPassed(wait.request)
            || context.now - wait.since >= context.configuration.subscriptionsMaxLag
    }

    /// A transaction begins, with the table as it is now.
    mutating func noteSeen() {
        if let wait = tableWait, isOver(wait) { tableWait?.isSeen = true }
    }

    /// Whether requests wait for the table, and not for the open transaction to end.
    var isWaitingForTable: Bool { tableWait.map { !isOver($0) } ?? false }
}
