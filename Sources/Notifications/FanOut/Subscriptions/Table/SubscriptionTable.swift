import StateStore
import Synchronization

/// Who subscribed to what: the fold of notifications.subscriptions, on disk or in memory (docs/code.md §7).
///
/// One thread applies records; any number of threads read, each with its own reader.
public final class SubscriptionTable: Sendable {
    private let applied: Mutex<TablePosition>
    private let store: any OrderedStore
    private let topic: String
    private let cluster: String?

    /// - Parameters:
    ///   - cluster: the cluster's id; nil if the broker does not report it.
    ///   - position: the position of the store's content.
    package init(store: any OrderedStore, topic: String, cluster: String? = nil, position: TablePosition) {
        self.store = store
        self.topic = topic
        self.cluster = cluster
        self.applied = Mutex(position)
    }

    /// A table that lives as long as the process, for tests and for `render`.
    public static func inMemory(partitions: Int = 1) -> SubscriptionTable {
        SubscriptionTable(
            store: MemoryStore(), topic: "",
            position: .beginning(at: [Int64](repeating: 0, count: partitions), time: .epoch))
    }

    /// The next offset to read, by partition. Any thread.
    public var appliedOffsets: [Int64] { position.offsets }

    /// The position of the table. Any thread.
    package var position: TablePosition { applied.withLock { $0 } }

    /// Whether it was read to its topic's end since it was last empty. Any thread.
    package var isWhole: Bool { applied.withLock { $0.isWhole } }

    /// The number of devices over all audiences; a device with two audiences counts twice.
    public func count() throws(SubscriptionTableError) -> Int {
        var reader = try makeReader()
        try reader.begin()
        return try reader.count()
    }

    /// Applies records to a complete table, in one store transaction. One thread at a time.
    ///
    /// A malformed record is counted, described and skipped; it is never an error. After an error nothing has been
    /// applied, and the call may be repeated.
    /// - Parameter time: when the topic had no records beyond these.
    package func apply(
        _ records: [SubscriptionRecord], nextOffsets: [Int64], at time: WallTime
    ) throws(SubscriptionTableError) -> SubscriptionTableChange {
        var changes = SubscriptionChanges()
        for record in records {
            changes.append(record)
        }
        var position = TablePosition.beginning(at: nextOffsets, time: time)
        position.isWhole = true
        return try apply(&changes, position)
    }

    /// Applies changes collected over several batches, and empties them.
    ///
    /// Call it without changes now and then, so that the checkpoint of an idle topic does not age.
    /// - Parameter position: the position with the changes applied.
    package func apply(
        _ changes: inout SubscriptionChanges, _ position: TablePosition
    ) throws(SubscriptionTableError) -> SubscriptionTableChange {
        var summary = SubscriptionTableChange()
        try write(position) { writer throws(StoreError) in
            summary = try changes.write(to: writer)
        }
        changes.removeAll()
        return summary
    }

    /// Stores a part of what was laid aside, while the table is not complete. The last part makes it so: only that one
    /// waits for the disk. If the process ends before, the next start begins with an empty table.
    ///
    /// - Parameters:
    ///   - position: the position with all parts stored.
    ///   - limit: the bytes of a part. LMDB has its pages in memory.
    /// - Returns: nil if there is more; after the last part, what all of them have changed. After an error the next call
    ///   stores the first part.
    package func store(
        _ fill: inout TableFill, _ position: TablePosition, limit: Int = 32 << 20
    ) throws(SubscriptionTableError) -> SubscriptionTableChange? {
        do throws(SubscriptionTableError) {
            guard let summary = try storePart(of: &fill, limit) else { return nil }
            try write(position) { _ throws(StoreError) in }
            fill.removeAll()
            return summary
        } catch {
            fill.rewind()
            throw error
        }
    }

    private func storePart(
        of fill: inout TableFill, _ limit: Int
    ) throws(SubscriptionTableError) -> SubscriptionTableChange? {
        let incomplete = fill.isBeingStored ? nil : checkpoint(position)
        var summary: SubscriptionTableChange?
        do throws(StoreError) {
            try store.writeUnsynced { writer throws(StoreError) in
                if let incomplete {
                    try writer.removeAll()
                    try incomplete.withBytes { bytes throws(StoreError) in try writer.setCheckpoint(bytes) }
                }
                summary = try fill.write(to: writer, limit: limit)
            }
        } catch {
            throw SubscriptionTableError(error)
        }
        return summary
    }

    /// Empties the table, which is then read from these offsets. Earlier snapshots stay valid; a new one is refused
    /// until the table is complete again. After an error the table is unchanged.
    ///
    /// - Parameter time: when the offsets were queried, before the first record is read.
    package func restart(at offsets: [Int64], time: WallTime) throws(SubscriptionTableError) {
        try write(.beginning(at: offsets, time: time)) { writer throws(StoreError) in try writer.removeAll() }
    }

    /// Runs one transaction: `body`, then the checkpoint.
    private func write(
        _ position: TablePosition, _ body: (any StoreWriter) throws(StoreError) -> Void
    ) throws(SubscriptionTableError) {
        let checkpoint = checkpoint(position)
        do throws(StoreError) {
            try store.write { writer throws(StoreError) in
                try body(writer)
                try checkpoint.withBytes { bytes throws(StoreError) in try writer.setCheckpoint(bytes) }
            }
        } catch {
            throw SubscriptionTableError(error)
        }
        applied.withLock { $0 = position }
    }

    private func checkpoint(_ position: TablePosition) -> [UInt8] {
        TableCheckpoint(topic: topic, cluster: cluster, position: position).encoded()
    }

    /// A reader for one worker. The table cannot be closed while it has readers.
    package func makeReader() throws(SubscriptionTableError) -> TableReader {
        do throws(StoreError) {
            return TableReader(try store.makeReader())
        } catch {
            throw SubscriptionTableError(error)
        }
    }

    /// Closes the store and marks it as intact. Every reader must be released before.
    package func close() throws(SubscriptionTableError) {
        do throws(StoreError) {
            try store.close()
        } catch {
            throw SubscriptionTableError(error)
        }
    }
}

extension SubscriptionTableError {
    init(_ error: StoreError) {
        switch error.recovery {
        case .wipe: self.init(.wipe, error.description)
        case .retry: self.init(.retry, error.description)
        case .stop: self.init(.giveUp, error.description)
        }
    }

    /// The table is being read from the topic's beginning; fan-out waits at the gate.
    static let notWhole = SubscriptionTableError(
        .retry, "the subscriptions table is being read from its topic's beginning")

    /// An entry in the store is not in this version's format.
    static let foreign = SubscriptionTableError(
        .wipe, "the subscriptions table was written by another version; delete its folder to fill it again")
}
