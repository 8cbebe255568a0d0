import Notifications
import StateStore

/// The devices of the channels in one partition of the subscriptions: the fold of its records below an offset, with the
/// offset at which each device joined.
///
/// What a transaction changes is *staged* until its end; what was committed is *pending* until it is stored, so that the
/// store is behind what the group has committed, and never ahead. One owner.
final class ChannelTable {
    /// What became of a device with a record.
    enum Change: Equatable {
        /// Nothing: it is not of a channel, or it left and was not there.
        case none
        /// It was there before.
        case refreshed
        case joined(ChannelKey, value: [UInt8])
        case left(ChannelKey)
        /// The record is no subscription.
        case malformed
    }

    /// So many changes may wait for the store.
    static let mostPending = 5_000

    private let store: any OrderedStore
    /// Nil once it was closed.
    private var reader: (any StoreReader)?
    private let origin: ChannelCheckpoint.Origin
    private var staged: [ChannelKey: [UInt8]?] = [:]
    private var pending: [ChannelKey: [UInt8]?] = [:]
    private var stagedFingerprints: [RecordFingerprint] = []
    private var fingerprints: RecentFingerprints
    private var parser = SubscriptionChanges()
    private var entries: [StoreEntry] = []
    /// Everything below is stored.
    private(set) var stored: Int64
    /// When it had everything in its log; until then, when its reading began. Its age is measured from this
    /// (docs/kafka.md 18).
    var time: WallTime
    /// The time that is stored with it.
    private(set) var storedTime: WallTime

    init(store: any OrderedStore, origin: ChannelCheckpoint.Origin, at checkpoint: ChannelCheckpoint) throws(StoreError)
    {
        self.store = store
        self.origin = origin
        stored = checkpoint.offset
        time = checkpoint.time
        storedTime = checkpoint.time
        fingerprints = checkpoint.records
        let reader = try store.makeReader()
        try reader.begin()
        self.reader = reader
    }

    var isPending: Bool { !pending.isEmpty }
    var pendingCount: Int { pending.count }

    // MARK: Records

    /// Stages what a record changes. Records of other audiences change nothing.
    func apply(_ record: SubscriptionRecord, timestamp: WallTime?) throws(StoreError) -> Change {
        if RecentFingerprints.remembers(record.value) {
            stagedFingerprints.append(
                RecordFingerprint(offset: record.offset, timestamp: timestamp, key: record.key))
        }
        if stagedFingerprints.count > 2 * RecentFingerprints.limit {
            stagedFingerprints.removeFirst(RecentFingerprints.limit)
        }
        switch record.partitioning {
        case .right: break
        case .misplaced, .ended: return .none
        }
        switch record.kind {
        case nil: return .malformed
        case .place, .user, .device: return .none
        case .channel: break
        }
        parser.removeAll()
        parser.append(record)
        guard parser.count == 1 else { return .malformed }
        let key = ChannelKey(parser.key(0))
        let before = try joined(key)
        guard let device = parser.value(0) else {
            guard before != nil else { return .none }
            staged[key] = .some(nil)
            return .left(key)
        }
        let value = ChannelEntry.make(joined: before ?? record.offset, device)
        staged[key] = value
        return before == nil ? .joined(key, value: value) : .refreshed
    }

    /// The device of a channel that a record takes out; nil if it takes out none. Changes nothing.
    func leaver(_ record: SubscriptionRecord) -> ChannelKey? {
        guard record.value == nil, record.partitioning == .right, record.kind == .channel else { return nil }
        parser.removeAll()
        parser.append(record)
        return parser.count == 1 ? ChannelKey(parser.key(0)) : nil
    }

    /// Since which offset a device is there; nil if it is not.
    private func joined(_ key: ChannelKey) throws(StoreError) -> Int64? {
        if let change = staged[key] ?? pending[key] {
            return change.flatMap { $0.withUnsafeBytes { ChannelEntry.joined($0) } }
        }
        return try key.withBytes { bytes throws(StoreError) in
            try reader?.value(for: bytes).flatMap { ChannelEntry.joined($0) }
        }
    }

    /// The group has committed what is staged.
    func commit() {
        pending.merge(staged) { $1 }
        for fingerprint in stagedFingerprints.suffix(RecentFingerprints.limit) { fingerprints.append(fingerprint) }
        abort()
    }

    func abort() {
        staged.removeAll(keepingCapacity: true)
        stagedFingerprints.removeAll(keepingCapacity: true)
    }

    // MARK: The store

    /// Stores what was committed. After an error it is still pending, and nothing else has changed.
    ///
    /// - Parameter offset: the fold is of the records below.
    func flush(at offset: Int64) throws(StoreError) {
        let checkpoint = ChannelCheckpoint(offset: offset, time: time, records: fingerprints)
        // A snapshot would keep the writer from using its pages again; what was visited is of it.
        entries.removeAll(keepingCapacity: true)
        reader?.end()
        do throws(StoreError) {
            try write(checkpoint)
        } catch {
            try reader?.begin()
            throw error
        }
        pending.removeAll(keepingCapacity: true)
        stored = offset
        storedTime = checkpoint.time
        try reader?.begin()
    }

    /// Writes what is pending.
    private func write(_ checkpoint: ChannelCheckpoint) throws(StoreError) {
        let changes = pending.sorted { $0.key < $1.key }
        try store.write { writer throws(StoreError) in
            for (key, value) in changes {
                try key.withBytes { key throws(StoreError) in try writer.set(key, value) }
            }
            try Array(checkpoint.text(origin).utf8).withBytes { text throws(StoreError) in
                try writer.setCheckpoint(text)
            }
        }
    }

    /// Ends its use; nothing can be read afterwards.
    func close() throws(StoreError) {
        reader?.end()
        reader = nil
        entries.removeAll()
        try store.close()
    }

    // MARK: Devices

    /// Visits devices of an audience in the order of their keys, as the group has committed them. Nothing may be staged.
    ///
    /// The device points into the table: valid during the call.
    /// - Parameters:
    ///   - first: keys before it are skipped.
    ///   - limit: so many are looked at.
    ///   - visit: takes the key of each, whether it is still there, and the offset at which it joined.
    /// - Returns: whether there may be more.
    func visit(
        _ audience: ChannelHash, from first: ChannelKey?, limit: Int,
        _ visit: (UnsafeRawBufferPointer, Device, _ joined: Int64) throws -> Void
    ) throws -> Bool {
        entries.removeAll(keepingCapacity: true)
        let prefix = audience.bytes
        try prefix.withBytes { prefix throws(StoreError) in
            if let first {
                try first.withBytes { first throws(StoreError) in
                    try reader?.append(startingWith: prefix, from: first, limit: limit, to: &entries)
                }
            } else {
                try reader?.append(startingWith: prefix, from: nil, limit: limit, to: &entries)
            }
        }
        for entry in entries {
            if !pending.isEmpty, let change = pending[ChannelKey(entry.key)] {
                // A device that is only pending joined after what is stored was folded.
                guard let change else { continue }
                try change.withUnsafeBytes { value in try Self.visit(entry.key, value, visit) }
            } else {
                try Self.visit(entry.key, entry.value, visit)
            }
        }
        return entries.count == limit
    }

    /// The last key that ``visit(_:from:limit:_:)`` looked at.
    var lastVisited: ChannelKey? { entries.last.map { ChannelKey($0.key) } }

    private static func visit(
        _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer,
        _ visit: (UnsafeRawBufferPointer, Device, _ joined: Int64) throws -> Void
    ) throws {
        guard let joined = ChannelEntry.joined(value), let device = ChannelEntry.device(key, value) else {
            throw StoreError(.damaged, "an entry of a channel's table was written by another version")
        }
        try visit(key, device, joined)
    }

    /// How many devices of an audience joined below an offset.
    func count(_ audience: ChannelHash, joinedBelow offset: Int64) throws -> Int {
        var count = 0
        var first: ChannelKey?
        while try visit(audience, from: first, limit: 10_000, { _, _, joined in count += joined < offset ? 1 : 0 }) {
            first = lastVisited?.successor
            guard first != nil else { break }
        }
        return count
    }
}
