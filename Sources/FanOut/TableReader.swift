import Extraction
import StateStore

/// Reads one snapshot of the table after the other, for one worker.
package final class TableReader {
    private let reader: any StoreReader
    /// The prefix that is looked for; 32 bytes, so that a whole hash fits.
    private let prefix = UnsafeMutableRawPointer.allocate(byteCount: 32, alignment: 16)
    /// Of the snapshot, by partition.
    package private(set) var offsets: [Int64] = []

    init(_ reader: any StoreReader) {
        self.reader = reader
    }

    deinit {
        prefix.deallocate()
    }

    /// Takes a new snapshot. What was read from the one before is gone.
    package func begin() throws(SubscriptionTableError) {
        do throws(StoreError) {
            try reader.begin()
            guard let checkpoint = try reader.checkpoint() else {
                offsets.removeAll(keepingCapacity: true)
                return
            }
            guard TableCheckpoint.readOffsets(checkpoint, into: &offsets) != nil else {
                throw SubscriptionTableError.foreign.asDamage
            }
        } catch {
            throw SubscriptionTableError(error)
        }
    }

    /// Gives the snapshot up, so that the store can use its pages again.
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
    func addDevices(
        of audience: UnsafeRawBufferPointer, as index: Int32, limit: Int, to list: inout DeviceList
    ) throws(SubscriptionTableError) {
        TableEntry.writeAudience(audience, to: prefix)
        let prefix = UnsafeRawBufferPointer(start: prefix, count: TableEntry.audienceCount)
        do throws(StoreError) {
            var found = 0
            var entry = try reader.seek(prefix)
            while let current = entry, found <= limit, Self.starts(current.key, with: prefix) {
                guard let device = TableEntry.device(current, audience: index) else {
                    throw SubscriptionTableError.foreign.asDamage
                }
                list.append(device)
                found += 1
                entry = try reader.next()
            }
        } catch {
            throw SubscriptionTableError(error)
        }
    }

    private static func starts(_ key: UnsafeRawBufferPointer, with prefix: UnsafeRawBufferPointer) -> Bool {
        key.count == TableEntry.keyCount
            && key.loadUnaligned(as: UInt64.self) == prefix.loadUnaligned(as: UInt64.self)
            && key.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
                == prefix.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
    }
}

extension SubscriptionTableError {
    fileprivate var asDamage: StoreError { StoreError(.damaged, description) }
}
