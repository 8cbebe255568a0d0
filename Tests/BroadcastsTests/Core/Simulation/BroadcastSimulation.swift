import Notifications
import TestSupport

@testable import Broadcasts

/// Logs, a group and several processes over hours. Single-threaded; the time of a transaction is a moment, and a process
/// that has lost a partition may not know it yet.
final class BroadcastSimulation {
    struct Size {
        var partitions: Int32 = 3
        var devices = 24
        var channels = 3
        var workers = 3
        var steps = 500
        var mostRecords = 12
        /// A broadcast is the business of so many of a hundred steps.
        var publishes = 12
        /// So many of a hundred transactions fail somehow.
        var failures = 30
        var mostChanges = 6
    }

    static let start: WallTime = 1_751_875_337_000
    static let maxAge = 20 * SimulatedSubscriptions.minute
    static let mostLate = 3
    /// Records of the topic of broadcasts are deleted after it.
    static let retention = 35 * SimulatedSubscriptions.minute

    let size: Size
    var random: SeededGenerator
    var now = BroadcastSimulation.start
    var subscriptions: [SimulatedSubscriptions]
    var broadcasts = TestBroadcasts()
    /// By number; hashing a token takes long.
    let devices: [TestDevice]
    /// Who is subscribed, with the last version of each.
    private var live: [SimulatedSubscriptions.Key: WallTime] = [:]

    // What the broker knows.
    /// The committed offsets as texts.
    var group: [Int32: (offset: Int64, metadata: String)] = [:]
    var owners: [Int32: Int] = [:]
    let first: [Int32: BroadcastOffset]
    var transactions: [SimulatedTransaction] = []

    var workers: [SimulatedWorker] = []
    /// What has happened, so that a test can tell that it shows something.
    var happened: [String: Int] = [:]

    init(seed: UInt64, _ size: Size = Size()) throws {
        self.size = size
        random = SeededGenerator(seed: seed)
        subscriptions = Array(repeating: SimulatedSubscriptions(), count: Int(size.partitions))
        devices = (0..<size.devices).map { TestDevice($0) }
        var first: [Int32: BroadcastOffset] = [:]
        for partition in 0..<size.partitions {
            first[partition] = BroadcastOffset(offset: 0, partitions: size.partitions, time: now, broadcast: 0)
        }
        self.first = first
        group = first.mapValues { ($0.offset, $0.metadata) }
        for number in 0..<size.workers { workers.append(SimulatedWorker(number, self)) }
        for partition in 0..<size.partitions { try assign(partition, to: Int(partition) % size.workers) }
    }

    func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }
    func note(_ what: String, _ count: Int = 1) { happened[what, default: 0] += count }

    static func channel(_ number: Int) -> String { "channel/\(number)" }

    func partition(_ key: SimulatedSubscriptions.Key) -> Int32 {
        Int32((key.device * 7 + key.channel) % Int(size.partitions))
    }

    // MARK: What happens

    func run() throws {
        for _ in 0..<size.steps {
            now += chance(70) ? .random(in: 0..<400, using: &random) : .random(in: 0..<40_000, using: &random)
            if chance(60) { for _ in 0..<Int.random(in: 1...size.mostChanges, using: &random) { change() } }
            if chance(size.publishes) {
                broadcast()
                if chance(30) { try moveAtOnce() }
            }
            if chance(5) { for index in subscriptions.indices { subscriptions[index].compact(at: now) } }
            if chance(6) { try rebalance() }
            try workers.randomElement(using: &random)?.work(fails: chance(size.failures))
        }
        try drain()
    }

    /// Until nothing is left to do.
    func drain() throws {
        for _ in 0..<10_000 {
            now += 1_500
            for worker in workers { try worker.work(fails: false) }
            let isRead = group.allSatisfy { $0.value.offset >= subscriptions[Int($0.key)].end }
            if isRead, workers.allSatisfy({ !$0.isBusy && $0.owns(owners) }) { return }
        }
        note("never idle")
    }

    /// A partition moves within the second in which its owner has seen a broadcast, and the next one may not have.
    private func moveAtOnce() throws {
        for worker in workers + workers {
            now += .random(in: 0..<120, using: &random)
            try worker.work(fails: false)
        }
        try rebalance()
        for worker in workers { try worker.work(fails: false) }
    }

    private func change() {
        let key = SimulatedSubscriptions.Key(
            device: .random(in: 0..<size.devices, using: &random),
            channel: .random(in: 0..<size.channels, using: &random))
        if chance(3) { return append(.init(time: now, key: key, seen: nil, isMalformed: true)) }
        // Most that are there stay, and are refreshed now and then.
        if live[key] != nil, chance(40) {
            live[key] = nil
            return append(.init(time: now, key: key, seen: nil))
        }
        if live[key] == nil, chance(5) { return append(.init(time: now, key: key, seen: nil)) }
        let seen = chance(85) ? now : now - .random(in: 0..<2 * Self.maxAge, using: &random)
        live[key] = seen
        append(.init(time: now, key: key, seen: seen))
    }

    func append(_ record: SimulatedSubscriptions.Record) {
        subscriptions[Int(partition(record.key))].append(record)
    }

    private func broadcast() {
        let id = "\(Int.random(in: 0..<12, using: &random))"
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<3: broadcasts.append(id, .cancelled, at: now)
        case 3..<5: broadcasts.append(id, .unreadable, at: now)
        case 5..<8:
            // One of the latest is cancelled or corrected, likely while it is sent.
            guard let latest = broadcasts.entries.last else { return }
            broadcasts.append(latest.id, chance(50) ? .cancelled : latest.kind, at: now)
        default: broadcasts.append(id, published(), at: now)
        }
    }

    private func published() -> TestBroadcasts.Kind {
        let lifetime: Int64 =
            chance(25)
            ? .random(in: 0..<5_000, using: &random)
            : .random(in: 0...28 * SimulatedSubscriptions.minute, using: &random)
        return .published(audience: Self.channel(.random(in: 0..<size.channels, using: &random)), lifetime: lifetime)
    }

    // MARK: The group

    private func rebalance() throws {
        let partition = Int32.random(in: 0..<size.partitions, using: &random)
        let next = Int.random(in: 0..<size.workers, using: &random)
        guard next != owners[partition] else { return }
        if let owner = owners[partition] {
            // Otherwise its process finds out when it commits.
            if chance(60) { try workers[owner].revoke(partition) } else { note("did not know") }
        }
        note("rebalances")
        try assign(partition, to: next)
    }

    func assign(_ partition: Int32, to worker: Int) throws {
        owners[partition] = worker
        try workers[worker].open(partition)
    }

    // MARK: What has happened

    /// Counts what the transactions did.
    func summarize() {
        for transaction in transactions {
            note("pushes of passes", transaction.passes.count)
            note("pushes to joiners", transaction.late.count)
            note("dead letters", transaction.letters.count)
            note("skipped", transaction.entry.skipped.count)
            for slice in transaction.entry.passes {
                note("stale", slice.stale)
                note(slice.end?.rawValue ?? "slices that continue")
            }
        }
        note("compacted", subscriptions.reduce(0) { $0 + $1.removals })
    }
}
