/// The ids of the requests of every partition that a worker owns; it can roll back to the last commit.
///
/// In a partition without ``assign(_:newest:)`` every request stands alone. One owner; allocates nothing per request once
/// its memory is large enough.
package struct RequestStates: ~Copyable, RequestHistory {
    /// How many ids of a partition are remembered.
    package static let limit = 1_000_000
    /// For how long, in milliseconds of the partition's time.
    package static let lifetime = Int64(PartitionRequests.lifetime) * 1000

    private let limit: Int
    private var partitions: [PartitionRequests?] = []
    private var current: PartitionRequests?
    private var undo = UndoItems<RequestChange>()
    /// The latest time that a record may count as (``RecordTime``).
    package var latestTime = WallTime.distantFuture
    /// As ``OrderStates/hasBoundedTimes``.
    package var hasBoundedTimes = false
    /// How many ids were forgotten because a partition had too many, and were still known. Whoever reads it sets it back.
    var forgotten = 0

    package init(limit: Int = RequestStates.limit) { self.limit = limit }

    /// Begins a partition in which no request was seen.
    ///
    /// - Parameter newest: the newest timestamp of its records so far.
    package mutating func assign(_ partition: Int32, newest: WallTime) {
        if partitions.count <= Int(partition) {
            partitions.append(contentsOf: repeatElement(nil, count: Int(partition) + 1 - partitions.count))
        }
        partitions[Int(partition)] = PartitionRequests(partition: partition, newest: newest, limit: limit)
        current = nil
    }

    package mutating func revoke(_ partition: Int32) {
        guard Int(partition) < partitions.count else { return }
        partitions[Int(partition)] = nil
        current = nil
    }

    subscript(partition: Int32) -> PartitionRequests? {
        partitions.indices.contains(Int(partition)) ? partitions[Int(partition)] : nil
    }

    // MARK: Record by record

    /// Call it first for every record of the log, whatever its outcome.
    mutating func begin(_ record: EventRecord) {
        undo.beginEvent()
        if current?.partition != record.partition { current = self[record.partition] }
        guard let current else { return }
        current.begin(record, latest: latestTime, undo: &undo)
        if let timestamp = record.timestamp, timestamp > latestTime { hasBoundedTimes = true }
    }

    package mutating func take(_ request: RequestSighting) -> SuppressionReason? {
        guard let (reason, hasForgotten) = current?.take(request, undo: &undo) else { return nil }
        if hasForgotten { forgotten += 1 }
        return reason
    }

    // MARK: Transactions

    /// Commits everything but the newest `open` records.
    mutating func commit(keeping open: Int = 0) { undo.commit(keeping: open) }

    /// Rolls back everything that is not committed.
    mutating func rollBack() {
        let partitions = partitions
        undo.takeBack { partition, change in partitions[Int(partition)]?.restore(change) }
    }

    /// No transaction is open: the state is that of the committed offsets.
    package var isCommitted: Bool { undo.isEmpty }

    /// The number of ids.
    package var count: Int { partitions.reduce(0) { $0 + ($1?.count ?? 0) } }
}

extension RequestStates: CheckpointedStates {
    /// The layout of a stored entry.
    package static let version: UInt8 = 1

    package mutating func takeChanges<Failure: Error>(
        of partition: Int32, limit: Int, _ body: (RequestOffset, UnsafeRawBufferPointer?) throws(Failure) -> Void
    ) throws(Failure) -> Int {
        try self[partition]?.takeChanges(limit: limit, body) ?? 0
    }

    package mutating func load(
        _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, into partition: Int32
    ) -> Bool {
        self[partition]?.load(key, value) ?? false
    }
}
