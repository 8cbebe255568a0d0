import Deliveries
import DispatchRecords
import Events
import StateStore

/// What became of the pushes of devices at their providers, in a scratch store. One owner, one thread.
package final class DeliveredPushes {
    private static let flushLimit = 100_000
    private static let digestCount = 16

    private let topic: String
    private let store: any OrderedStore
    private let reader: any StoreReader
    private var pending: [(key: [UInt8], value: [UInt8])] = []
    private var found: [StoreEntry] = []

    /// - Parameters:
    ///   - topic: the dispatch topic; outcomes of another one are ignored.
    ///   - store: empty, and used by nobody else.
    package init(topic: String, store: any OrderedStore) throws(StoreError) {
        self.topic = topic
        self.store = store
        reader = try store.makeReader()
    }

    package func append(_ outcome: DeliveryRecord) throws(StoreError) {
        guard outcome.topic == topic else { return }
        let place = bigEndian(UInt32(bitPattern: outcome.partition)) + bigEndian(UInt64(bitPattern: outcome.offset))
        let digest = Self.digest(Array(outcome.messageID.utf8), Array(outcome.device.utf8))
        pending.append((digest.bytes + place, [outcome.outcome.isUndelivered ? 1 : 0]))
        if pending.count >= Self.flushLimit { try flush() }
    }

    /// Writes what was appended. Call it before querying.
    package func flush() throws(StoreError) {
        reader.end()
        try store.write { writer throws(StoreError) in try writer.put(pending) }
        pending.removeAll(keepingCapacity: true)
        try reader.begin()
    }

    /// Why a push does not count as undelivered; nil if it does: each of its records was refused or given up, and the
    /// device has not got its message from another event either.
    ///
    /// - Parameter places: of its records in the dispatch topic.
    func reason(against record: DispatchRecord, at places: [Coordinates]) throws(StoreError) -> RedriveOmission? {
        guard !places.isEmpty else { return .notDispatched }
        let digest = Self.digest(record[.messageID].map { Array($0) } ?? [], Array(record.key))
        found.removeAll(keepingCapacity: true)
        try digest.bytes.withStored { prefix throws(StoreError) in
            try reader.append(startingWith: prefix, limit: .max, to: &found)
        }
        if found.contains(where: { $0.value.first != 1 }) { return .settled }
        let ended = found.map { entry in
            Coordinates(
                partition: Int32(
                    bitPattern: UInt32(
                        bigEndian: entry.key.loadUnaligned(fromByteOffset: Self.digestCount, as: UInt32.self))),
                offset: Int64(
                    bitPattern: UInt64(
                        bigEndian: entry.key.loadUnaligned(fromByteOffset: Self.digestCount + 4, as: UInt64.self))))
        }
        return places.allSatisfy(ended.contains) ? nil : .noOutcome
    }

    private static func digest(_ messageID: [UInt8], _ device: [UInt8]) -> Digest {
        Digest(hashing: messageID + [0] + device)
    }
}

extension DeliveryOutcome {
    /// The device may still get it, if the cause is gone.
    fileprivate var isUndelivered: Bool {
        switch self {
        case .refused, .gaveUp: true
        case .accepted, .expired, .deadDevice, .cancelled: false
        }
    }
}
