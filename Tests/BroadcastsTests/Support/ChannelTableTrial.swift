import Notifications
import StateStore

@testable import Broadcasts

/// A table of channels, and what it is asked.
struct ChannelTableTrial {
    static let channel = "channel/a"
    static let origin = ChannelCheckpoint.Origin(topic: "subscriptions", partition: 3, cluster: "c")

    let store: any OrderedStore
    let table: ChannelTable

    init(store: any OrderedStore = MemoryStore(), at offset: Int64 = 0) throws {
        self.store = store
        table = try ChannelTable(
            store: store, origin: Self.origin, at: ChannelCheckpoint(offset: offset, time: 0))
    }

    // MARK: Records

    func apply(_ key: [UInt8], _ value: [UInt8]?, at offset: Int64) throws -> ChannelTable.Change {
        try key.withUnsafeBytes { key in
            try (value ?? []).withUnsafeBytes { bytes in
                try table.apply(
                    SubscriptionRecord(
                        partition: 3, offset: offset, key: key, value: value == nil ? nil : bytes),
                    timestamp: WallTime(milliseconds: 1_000 + offset))
            }
        }
    }

    @discardableResult
    func subscribe(
        _ device: TestDevice, _ audience: String = channel, at offset: Int64, seen: WallTime = 0
    ) throws -> ChannelTable.Change {
        try apply(device.key(in: audience), device.value(in: audience, seen: seen), at: offset)
    }

    @discardableResult
    func unsubscribe(
        _ device: TestDevice, _ audience: String = channel, at offset: Int64
    ) throws -> ChannelTable.Change {
        try apply(device.key(in: audience), nil, at: offset)
    }

    // MARK: What it has

    struct Visited: Equatable {
        var device: String
        var joined: Int64
    }

    /// The devices of an audience.
    func devices(
        _ audience: String = channel, from first: TestDevice? = nil, limit: Int = 1_000
    ) throws -> [Visited] {
        var found: [Visited] = []
        let hash = ChannelHash(of: audience)
        _ = try table.visit(hash, from: first.map { ChannelKey(hash, device: $0.hashBytes) }, limit: limit) {
            _, device, joined in
            found.append(Visited(device: String(decoding: device.token, as: UTF8.self), joined: joined))
        }
        return found
    }

    func stored() throws -> (origin: ChannelCheckpoint.Origin, checkpoint: ChannelCheckpoint)? {
        let reader = try store.makeReader()
        try reader.begin()
        return try reader.checkpoint().flatMap(ChannelCheckpoint.read)
    }

    func storedCount() throws -> Int {
        let reader = try store.makeReader()
        try reader.begin()
        return try reader.count()
    }
}

extension ChannelTable.Change {
    /// The offset with which a device joined; nil of another change.
    var joinedAt: Int64? {
        guard case .joined(_, let value) = self else { return nil }
        return value.withUnsafeBytes { ChannelEntry.joined($0) }
    }

    var hasLeft: Bool {
        guard case .left = self else { return false }
        return true
    }
}

/// A store whose writes can fail.
final class FailingStore: OrderedStore, @unchecked Sendable {
    private let store = MemoryStore()
    var fails = false

    func makeReader() throws(StoreError) -> any StoreReader { try store.makeReader() }

    func write(_ body: (any StoreWriter) throws(StoreError) -> Void) throws(StoreError) {
        guard !fails else { throw StoreError(.diskFull, "no room") }
        try store.write(body)
    }

    func close() throws(StoreError) { try store.close() }
}
