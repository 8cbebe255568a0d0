import Notifications

/// What became of the pushes of devices at their providers, in a ``Scratch``. One owner, one thread.
package final class DeliveredPushes {
    private let topic: String
    private let insert: Statement
    private let select: Statement

    /// - Parameter topic: the dispatch topic; outcomes of another one are ignored.
    package init(topic: String, _ scratch: Scratch) throws {
        try scratch.run(
            """
            CREATE TABLE outcomes (push, partition, offset, is_undelivered, PRIMARY KEY (push, partition, offset))
            WITHOUT ROWID
            """)
        self.topic = topic
        insert = try Statement(scratch, "INSERT OR REPLACE INTO outcomes VALUES (?, ?, ?, ?)")
        select = try Statement(scratch, "SELECT partition, offset, is_undelivered FROM outcomes WHERE push = ?")
    }

    package func append(_ outcome: DeliveryRecord) throws {
        guard outcome.topic == topic else { return }
        try insert.run(
            Digest(of: outcome.messageID.utf8, to: outcome.device.utf8), outcome.partition, outcome.offset,
            outcome.outcome.isUndelivered)
    }

    /// Why a push does not count as undelivered; nil if it does: each of its records was refused or given up, and the
    /// device has not got its message from another event either.
    ///
    /// - Parameter coordinates: of its records in the dispatch topic.
    func reason(against record: DispatchRecord, at coordinates: [Coordinates]) throws -> RedriveOmission? {
        guard !coordinates.isEmpty else { return .notDispatched }
        var ended: [Coordinates] = []
        try select.bind(Digest(of: record[.messageID].map { Array($0) } ?? [], to: record.key))
        while let row = try select.next() {
            if row.number(2) == 0 { return .settled }
            ended.append(Coordinates(partition: Int32(row.number(0)), offset: row.number(1)))
        }
        return coordinates.allSatisfy(ended.contains) ? nil : .noOutcome
    }
}

extension DeliveryOutcome {
    /// The device may still get it, if the cause is gone.
    fileprivate var isUndelivered: Bool {
        switch self {
        case .refused, .gaveUp: true
        case .accepted, .expired, .deadDevice, .cancelled, .superseded: false
        }
    }
}
