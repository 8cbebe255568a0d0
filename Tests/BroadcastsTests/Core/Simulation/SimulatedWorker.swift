import Notifications
import StateStore

@testable import Broadcasts

/// A process: a core, and stores that stay when it dies.
final class SimulatedWorker {
    struct Died: Error {}
    struct Aborted: Error {}

    /// Counts the steps of a transaction, and ends it at one of them.
    final class Faults {
        var left: Int?
        var error: any Error = Aborted()

        func step() throws {
            guard let left else { return }
            guard left > 0 else {
                self.left = nil
                throw error
            }
            self.left = left - 1
        }
    }

    let number: Int
    unowned let world: BroadcastSimulation
    var core: BroadcastCore
    private var stores: [Int32: MemoryStore] = [:]
    let faults = Faults()
    /// Its view of the broadcasts, which never goes back.
    var view: Int64 = 0

    init(_ number: Int, _ world: BroadcastSimulation) {
        self.number = number
        self.world = world
        core = Self.core(world)
    }

    private static func core(_ world: BroadcastSimulation) -> BroadcastCore {
        BroadcastCore(
            BroadcastSettings(
                topic: "broadcasts", subscriptionsTopic: "subscriptions",
                rendering: RenderSettings(), maxAge: BroadcastSimulation.maxAge,
                mostLate: BroadcastSimulation.mostLate, mostRecords: world.size.mostRecords))
    }

    var isBusy: Bool { core.owned.contains { core.isBusy($0) } }

    /// Whether it works on what the group has given it, and on nothing else.
    func owns(_ owners: [Int32: Int]) -> Bool { core.owned == owners.filter { $0.value == number }.keys.sorted() }

    // MARK: Partitions

    /// Opens the table of a partition, and folds what it lacks below the committed offset.
    func open(_ partition: Int32) throws {
        guard let committed = world.group[partition],
            let offset = BroadcastOffset(offset: committed.offset, metadata: committed.metadata)
        else { return }
        let log = ChannelTable.Log(
            origin: .init(topic: "subscriptions", partition: partition, cluster: nil), start: 0,
            committed: offset.offset, largestAge: SimulatedSubscriptions.deleteRetention / 2, now: world.now)
        var store = stores[partition] ?? MemoryStore()
        var checkpoint = ChannelCheckpoint(offset: 0, time: world.now)
        if let stored = try read(store) {
            if stored.checkpoint.offset > offset.offset { world.note("stores ahead of the group") }
            if ChannelTable.problem(of: stored, log) == nil {
                checkpoint = stored.checkpoint
                world.note(checkpoint.offset < offset.offset ? "stores that were behind" : "stores")
            } else {
                store = MemoryStore()
                world.note("stores that were wiped")
            }
        }
        stores[partition] = store
        let table = try ChannelTable(store: store, origin: log.origin, at: checkpoint)
        var next = checkpoint.offset
        while let found = world.subscriptions[Int(partition)].next(from: next), found < offset.offset {
            _ = try apply(partition, found) { record, time in try table.apply(record, timestamp: time) }
            next = found + 1
            table.commit()
            if world.chance(2) { try table.flush(at: next) }
        }
        if table.stored < offset.offset { try table.flush(at: offset.offset) }
        core.assign(partition, committed: offset, table: table)
        world.note("folds")
    }

    private func read(
        _ store: MemoryStore
    ) throws -> (origin: ChannelCheckpoint.Origin, checkpoint: ChannelCheckpoint)? {
        let reader = try store.makeReader()
        try reader.begin()
        return try reader.checkpoint().flatMap(ChannelCheckpoint.read)
    }

    func apply<Value>(
        _ partition: Int32, _ offset: Int64, _ body: (SubscriptionRecord, WallTime) throws -> Value
    ) throws -> Value {
        let found = world.subscriptions[Int(partition)].records[Int(offset)]
        let device = world.devices[found.key.device]
        let channel = BroadcastSimulation.channel(found.key.channel)
        let key = found.isMalformed ? Array("nobody".utf8) : device.key(in: channel)
        return try key.withUnsafeBytes { key in
            guard found.seen != nil else {
                return try body(.init(partition: partition, offset: offset, key: key, value: nil), found.time)
            }
            return try device.value(in: channel, seen: found.seen).withUnsafeBytes { value in
                try body(.init(partition: partition, offset: offset, key: key, value: value), found.time)
            }
        }
    }

    /// The group takes a partition back.
    func revoke(_ partition: Int32) throws {
        let offset = core.committed(partition)?.offset ?? 0
        guard let table = core.remove(partition) else { return }
        if table.isPending, world.chance(70) { try table.flush(at: offset) }
    }

    /// Everything is lost but the disk, and sometimes that too.
    func die() throws {
        let owned = core.owned
        core = Self.core(world)
        view = 0
        if world.chance(15) {
            stores = [:]
            world.note("lost stores")
        }
        // The group gives some of its partitions to others.
        for partition in owned where world.owners[partition] == number {
            try world.assign(
                partition,
                to: world.chance(60) ? number : Int.random(in: 0..<world.size.workers, using: &world.random))
        }
    }

    func startAgain(_ partitions: [Int32]) throws {
        for partition in partitions {
            try revoke(partition)
            if world.owners[partition] == number { try open(partition) }
        }
    }
}
