import StateStore

/// Reads snapshots of the table, one at a time, for one worker.
///
/// Not a class: at every lookup the runtime would check for exclusive access to ``entries`` (0.1 µs).
package struct TableReader: ~Copyable {
    private let reader: any StoreReader
    /// The prefix of the lookup; 32 bytes, so that a whole hash fits.
    private let prefix = UnsafeMutableRawPointer.allocate(byteCount: 32, alignment: 16)
    /// What the store found for an audience; the memory is reused.
    private var entries: [StoreEntry] = []
    /// The offsets of the snapshot, by partition.
    package private(set) var offsets: [Int64] = []

    init(_ reader: any StoreReader) {
        self.reader = reader
    }

    deinit {
        prefix.deallocate()
    }

    /// Takes a new snapshot. Devices read from the previous one become invalid.
    ///
    /// - Throws: `.retry` if the table is incomplete. Workers wait at their gate; this stops one that passed it just
    ///   before it closed.
    package mutating func begin() throws(SubscriptionTableError) {
        var isComplete = true
        do throws(StoreError) {
            try reader.begin()
            guard let checkpoint = try reader.checkpoint() else {
                offsets.removeAll(keepingCapacity: true)
                return
            }
            guard let isWhole = TableCheckpoint.readHead(checkpoint, into: &offsets) else {
                throw SubscriptionTableError.foreign.asDamage
            }
            isComplete = isWhole
        } catch {
            throw SubscriptionTableError(error)
        }
        guard isComplete else {
            reader.end()
            throw .notWhole
        }
    }

    /// Releases the snapshot, so that the store can reuse its pages.
    package func end() {
        reader.end()
    }

    package func count() throws(SubscriptionTableError) -> Int {
        do throws(StoreError) {
            return try reader.count()
        } catch {
            throw SubscriptionTableError(error)
        }
    }

    /// Appends the devices of an audience in the order of their token hashes; they point into the snapshot.
    ///
    /// Stops one device past `limit`, which is enough to see that there are too many.
    package mutating func addDevices(
        of audience: UnsafeRawBufferPointer, as index: Int32, limit: Int, to list: inout DeviceList
    ) throws(SubscriptionTableError) {
        TableEntry.writeAudience(audience, to: prefix)
        let prefix = UnsafeRawBufferPointer(start: prefix, count: TableEntry.audienceCount)
        entries.removeAll(keepingCapacity: true)
        do throws(StoreError) {
            try reader.append(startingWith: prefix, limit: limit + 1, to: &entries)
        } catch {
            throw SubscriptionTableError(error)
        }
        for entry in entries {
            guard let device = TableEntry.device(entry, audience: index) else { throw .foreign }
            list.append(device)
        }
    }
}

extension SubscriptionTableError {
    fileprivate var asDamage: StoreError { StoreError(.damaged, description) }
}
