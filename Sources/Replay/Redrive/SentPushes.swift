import DispatchRecords
import Pipeline
import StateStore

/// Which devices have which messages, whatever the source of the record, in a scratch store. One owner, one thread.
///
/// In a log that was restored from a mirror, events have other offsets, so their pushes look unsent.
package final class SentPushes {
    private static let flushLimit = 100_000

    private let store: any OrderedStore
    private let reader: any StoreReader
    private var pending: Set<Digest> = []

    /// - Parameter store: empty, and used by nobody else.
    package init(store: any OrderedStore) throws(StoreError) {
        self.store = store
        reader = try store.makeReader()
    }

    /// Takes a record of the dispatch topic; ignores one without a message id.
    func append(_ record: DispatchRecord) throws(StoreError) {
        guard let messageID = record[.messageID] else { return }
        pending.insert(Self.digest(messageID, record.key))
        if pending.count >= Self.flushLimit { try flush() }
    }

    /// Writes what was appended. Call it before querying.
    func flush() throws(StoreError) {
        guard !pending.isEmpty else { return try reader.begin() }
        let entries = pending.map { (key: $0.bytes, value: [UInt8(1)]) }
        reader.end()
        try store.write { writer throws(StoreError) in try writer.put(entries) }
        pending.removeAll(keepingCapacity: true)
        try reader.begin()
    }

    func contains(_ record: DispatchRecord) throws(StoreError) -> Bool {
        guard let messageID = record[.messageID] else { return false }
        var isThere = false
        try Self.digest(messageID, record.key).bytes.withStored { key throws(StoreError) in
            isThere = try reader.value(for: key) != nil
        }
        return isThere
    }

    private static func digest(_ messageID: UnsafeRawBufferPointer, _ key: UnsafeRawBufferPointer) -> Digest {
        Digest(hashing: Array(messageID) + [0] + Array(key))
    }
}
