import Extraction
import StateStore
import Synchronization

/// Who subscribed to what: the fold of notifications.subscriptions, on disk or in memory (design §7).
///
/// One thread applies records; any number of threads read, each by a reader of its own.
public final class SubscriptionTable: Sendable {
    private let offsets: Mutex<[Int64]>
    private let store: any OrderedStore
    private let topic: String

    init(store: any OrderedStore, topic: String, offsets: [Int64]) {
        self.store = store
        self.topic = topic
        self.offsets = Mutex(offsets)
    }

    /// A table that is gone with the process, for tests and for `render`.
    public static func inMemory(partitions: Int = 1) -> SubscriptionTable {
        SubscriptionTable(store: MemoryStore(), topic: "", offsets: [Int64](repeating: 0, count: partitions))
    }

    /// The next offset to read, by partition. Any thread.
    public var appliedOffsets: [Int64] {
        offsets.withLock { $0 }
    }

    /// The number of devices over all audiences; a device of two audiences counts twice.
    public func count() throws(SubscriptionTableError) -> Int {
        var reader = try makeReader()
        try reader.begin()
        return try reader.count()
    }

    /// Applies records and the offsets after them in one store transaction. One thread at a time.
    ///
    /// A malformed record is counted, described and skipped, never thrown. Also to be called with no records now and
    /// then, so that the checkpoint of an idle topic does not age. After an error nothing is applied, and the call may be repeated.
    /// - Parameter time: the clock if the table has reached the topic's end, else the newest record's timestamp.
    package func apply(
        _ records: [SubscriptionRecord], nextOffsets: [Int64], at time: EventTime
    ) throws(SubscriptionTableError) -> SubscriptionTableChange {
        var changes = SubscriptionChanges()
        for record in records {
            changes.append(record)
        }
        return try apply(&changes, nextOffsets: nextOffsets, at: time)
    }

    /// The same for records that were collected over several batches, for a first load. Larger transactions load faster
    /// and leave a larger file, since every page they touch is written anew: a million devices in random order take
    /// 0.55 GB in transactions of 20,000 and 0.84 GB in transactions of 100,000. Empties `changes` when they are applied.
    package func apply(
        _ changes: inout SubscriptionChanges, nextOffsets: [Int64], at time: EventTime
    ) throws(SubscriptionTableError) -> SubscriptionTableChange {
        let checkpoint = TableCheckpoint(topic: topic, time: time, offsets: nextOffsets).encoded()
        var summary = SubscriptionTableChange()
        do throws(StoreError) {
            try store.write { writer throws(StoreError) in
                summary = try changes.write(to: writer)
                try checkpoint.withBytes { bytes throws(StoreError) in try writer.setCheckpoint(bytes) }
            }
        } catch {
            throw SubscriptionTableError(error)
        }
        changes.removeAll()
        offsets.withLock { $0 = nextOffsets }
        return summary
    }

    /// A reader for one worker. The table cannot be closed before its readers are gone.
    package func makeReader() throws(SubscriptionTableError) -> TableReader {
        do throws(StoreError) {
            return TableReader(try store.makeReader())
        } catch {
            throw SubscriptionTableError(error)
        }
    }

    /// Closes the store and marks it as sound. Every reader must be gone.
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

    /// What stands in the store is not what this version writes.
    static let foreign = SubscriptionTableError(
        .wipe, "the subscriptions table was written by another version; delete its folder, it is filled again")
}

extension [UInt8] {
    /// `withUnsafeBytes` with the store's own error.
    func withBytes(_ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void) throws(StoreError) {
        let result = withUnsafeBytes { bytes -> Result<Void, StoreError> in
            Result { () throws(StoreError) in try body(bytes) }
        }
        try result.get()
    }
}
