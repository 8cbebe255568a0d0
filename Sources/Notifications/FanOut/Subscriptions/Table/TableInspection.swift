import StateStore

/// The content of a stored table, for `carillon table check`.
public struct TableInspection: Equatable, Sendable {
    /// The devices over all audiences; every entry was read and is intact.
    public var devices: Int
    public var topic: String
    public var checkpointTime: WallTime?
    /// Whether it was read to its topic's end; otherwise the next start fills it again.
    public var isComplete = false
    /// The next offset to read, by partition.
    public var offsets: [Int64]
    /// The ``TableDigest`` of the content: 64 hex digits.
    public var digest: String
    /// The table could not be trusted and has been wiped, for this reason.
    public var wiped: String?
}

extension SubscriptionTable {
    /// Opens the table in a folder, and reads every entry. Nothing else may have the table open. Unlike a start it wipes no
    /// table for not having been closed several times in a row.
    public static func inspect(directory: String) throws(SubscriptionTableError) -> TableInspection {
        do throws(StoreError) {
            let (store, opening) = try DiskStore.open(directory, forgivesUnclean: true)
            var inspection = TableInspection(devices: 0, topic: "", offsets: [], digest: "")
            switch opening {
            case .wiped(let reason): inspection.wiped = reason
            case .created, .clean, .unclosed: break
            }
            do {
                let reader = try store.makeReader()
                try reader.begin()
                if let bytes = try reader.checkpoint(), let checkpoint = TableCheckpoint(bytes) {
                    inspection.topic = checkpoint.topic
                    inspection.checkpointTime = checkpoint.position.time
                    inspection.offsets = checkpoint.position.offsets
                    inspection.isComplete = checkpoint.position.isWhole
                }
                (inspection.devices, inspection.digest) = try read(reader)
            }
            try store.close()
            return inspection
        } catch {
            throw SubscriptionTableError(error)
        }
    }

    /// By the first byte of the keys, so that only a part of the entries is listed at once.
    private static func read(_ reader: any StoreReader) throws(StoreError) -> (devices: Int, digest: String) {
        var digest = TableDigest()
        var devices = 0
        var entries: [StoreEntry] = []
        for first in UInt8.min...UInt8.max {
            entries.removeAll(keepingCapacity: true)
            try [first].withBytes { prefix throws(StoreError) in
                try reader.append(startingWith: prefix, limit: .max, to: &entries)
            }
            for entry in entries { try digest.add(entry) }
            devices += entries.count
        }
        return (devices, digest.text)
    }
}
