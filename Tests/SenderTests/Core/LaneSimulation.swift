import Notifications
import TestSupport

@testable import Sender

/// Processes of one lane over a log, a group and a provider, all in memory, with a clock of its own: crashes, frozen
/// processes, rebalances, transactions that abort or whose end is unknown, answers out of order or never.
struct LaneSimulation {
    struct Rates {
        var isQuiet = false
        var records = 250
        var devices = 20
        var partitions = 3
        var processes = 3
        /// Of the records, those of one device, in percent.
        var busyDevice = 0.0
        /// The window; a small one is full often.
        var window = 64
    }

    /// A record of a topic; nil of a transaction's marker or an aborted record.
    struct Entry {
        var record: LaneRecord
        var note: RetryNote?
        var appendedAt: WallTime
        var isOurs = true
    }

    struct Answer {
        var at: WallTime
        var tag: UInt64
        var verdict: Verdict
        var status: Int?
    }

    /// A record of `topic.broadcasts`, which has the offset of its place in the list.
    struct Broadcast {
        var at: WallTime
        /// Cancelled, or replaced.
        var endedAt: WallTime?
    }

    struct Process {
        var core: LaneCore
        var positions: [Place: Int64] = [:]
        var answers: [Answer] = []
        var transaction: (value: LaneTransaction, endsAt: WallTime)?
        var frozenUntil: WallTime?
        /// Partitions that others have, unknown to it.
        var stolen: Set<Int32> = []
        var credentialReadyAt: WallTime?
        var inFlight: Set<DeviceOrder.Device> = []
        var tags: [UInt64: DeviceOrder.Device] = [:]
        var nextSight: WallTime = 0
    }

    /// A dispatch record.
    struct ID: Hashable {
        var kind: PushKind
        var partition: Int32
        var source: Int64
    }

    struct Place: Hashable {
        var stream: LaneStream
        var partition: Int32
    }

    /// Twice the gap after which a process must not send.
    static let sessionTimeout: Int64 = 6_000
    static let topics = ["dispatch", "dispatch.broadcasts"]

    let seed: UInt64
    let rates: Rates
    var random: SeededGenerator
    var now: WallTime = 1_000_000
    var logs: [Place: [Entry?]] = [:]
    var group: [Place: LaneOffset] = [:]
    var processes: [Process] = []
    var owners: [Int32: Int] = [:]
    /// How often each partition was assigned; and in which of these times a push was sent last, while nothing of that is committed.
    var assignments: [Int32: Int] = [:]
    var senders: [ID: Int] = [:]
    var outcomes: [DeliveryRecord] = []
    var retired = 0
    /// Requests of which nobody knows whether they arrived: in flight at a crash or a loss, cancelled, or without an answer.
    var unanswered = 0
    var outage: Range<WallTime> = 0..<0

    var broadcasts: [Broadcast] = []

    var decided: Set<ID> = []
    var accepted: [ID: Int] = [:]
    var dead: Set<ID> = []
    var sources: [LaneRecord] = []
    var problems: [String] = []
    var crashes = 0
    var aborts = 0
    /// Records of retry topics that have committed, and the answers after which there has to be one.
    var hops = 0
    var failures = 0
    /// The most records that waited in Kafka at once.
    var mostWaiting = 0

    init(seed: UInt64, rates: Rates = Rates()) {
        self.seed = seed
        self.rates = rates
        random = SeededGenerator(seed: seed)
        processes = (0..<rates.processes).map { _ in Process(core: Self.core(rates)) }
        outage = rates.isQuiet ? 0..<0 : now + 4_000..<now + 34_000
    }

    static func core(_ rates: Rates) -> LaneCore {
        var settings = LaneSettings(
            dispatchTopics: topics, partitions: Int32(rates.partitions),
            credentials: ["shop"])
        settings.window = rates.window
        settings.inFlight = 8
        settings.tiers = [200, 1_000, 5_000]
        settings.longestTry = 30_000
        settings.frozenAfter = 3_000
        settings.lastAnswers = 500
        return LaneCore(settings)
    }

    mutating func chance(_ percent: Double) -> Bool {
        !rates.isQuiet && Double.random(in: 0..<100, using: &random) < percent
    }

    // MARK: Kafka

    /// A record of a dispatch topic; its source is unique over all partitions only with its partition.
    mutating func produce() {
        let kind = Int.random(in: 0..<3, using: &random) == 0 ? PushKind.broadcasts : .orders
        if kind == .broadcasts, broadcasts.isEmpty || Int.random(in: 0..<8, using: &random) == 0 {
            broadcasts.append(Broadcast(at: now))
        }
        let isBusy = Double.random(in: 0..<100, using: &random) < rates.busyDevice
        let device = isBusy ? 0 : UInt64.random(in: 0..<UInt64(rates.devices), using: &random)
        let partition = Int32(device % UInt64(rates.partitions))
        let place = Place(stream: .dispatch(kind), partition: partition)
        if Int.random(in: 0..<6, using: &random) == 0 { logs[place, default: []].append(nil) }
        let life = Int64(rates.isQuiet ? 600_000 : Int.random(in: 300...90_000, using: &random))
        // The dispatcher has stopped before a broadcast is over for long.
        let live = broadcasts.indices.filter { broadcasts[$0].endedAt.map { now - $0 < 500 } ?? true }
        var record = LaneRecord(
            kind: kind, partition: partition, source: Int64(logs[place, default: []].count), device: device,
            deviceHash: String(repeating: "0", count: 64), messageID: "m\(sources.count)", platform: .fcm,
            credential: 0, expiresAt: now + life,
            broadcast: kind == .broadcasts ? live.randomElement(using: &random).map { Int64($0) } : nil)
        if kind == .orders, Int.random(in: 0..<4, using: &random) == 0 {
            let key = Bool.random(using: &random) ? "a" : "b"
            record.size = 50
            record.value = Array(#"{"message":{"android":{"collapse_key":"\#(key)"}}}"#.utf8)
        }
        let isOurs = Int.random(in: 0..<8, using: &random) > 0
        logs[place, default: []].append(Entry(record: record, appendedAt: now, isOurs: isOurs))
        if isOurs { sources.append(record) }
    }

    mutating func write(_ transaction: LaneTransaction, commits: Bool) {
        var touched: Set<Place> = []
        for retry in transaction.retries {
            let place = Place(stream: .tier(retry.record.kind, retry.tier), partition: retry.record.partition)
            touched.insert(place)
            // Its note goes through its text, as in Kafka.
            let entry = Entry(record: retry.record, note: RetryNote(retry.note.text), appendedAt: now)
            logs[place, default: []].append(commits ? entry : nil)
        }
        for place in touched { logs[place, default: []].append(nil) }
        guard commits else { return }
        outcomes += transaction.outcomes
        for outcome in transaction.outcomes { senders[id(outcome)] = nil }
        for retry in transaction.retries { senders[id(retry.record)] = nil }
        for commit in transaction.commits {
            let place = Place(stream: commit.stream, partition: commit.partition)
            group[place] = LaneOffset(offset: commit.offset.offset, metadata: commit.offset.metadata)
        }
    }

    mutating func assign(_ partition: Int32, to index: Int) {
        owners[partition] = index
        assignments[partition, default: 0] += 1
        let places = LaneStream.all(of: PushKind.allCases, tiers: 3).map { Place(stream: $0, partition: partition) }
        let committed = places.map { place in
            group[place] ?? LaneOffset(offset: 0, partitions: 3)
        }
        let ends = places.map { Int64(logs[$0]?.count ?? 0) }
        processes[index].core.assign(partition, committed: committed, ends: ends)
        for (place, offset) in zip(places, committed) {
            processes[index].positions[place] = offset.offset
            guard place.stream.tier != nil else { continue }
            for at in offset.offset..<max(offset.offset, Int64(logs[place]?.count ?? 0)) {
                guard let entry = logs[place]?[Int(at)] else { continue }
                processes[index].core.recall(
                    entry.record.source, of: partition, place.stream, at: at, device: entry.record.device)
            }
        }
        processes[index].core.recalled(partition)
    }

    // MARK: A run

    mutating func run() {
        for partition in 0..<Int32(rates.partitions) { assign(partition, to: Int(partition) % rates.processes) }
        var produced = 0
        let limit = now + 3_600_000
        while now < limit {
            let isBusy = produced < rates.records
            now += Int64(Int.random(in: 1...(isBusy ? 60 : 200), using: &random))
            if isBusy, Bool.random(using: &random) {
                for _ in 0..<Int.random(in: 1...3, using: &random) {
                    produce()
                    produced += 1
                }
            }
            if chance(0.5), let over = broadcasts.indices.randomElement(using: &random) {
                broadcasts[over].endedAt = broadcasts[over].endedAt ?? now
            }
            for index in processes.indices { step(index) }
            if isBusy || Int.random(in: 0..<20, using: &random) == 0 { disturb() }
            rebalance()
            if !isBusy, isDone { return }
        }
        problems.append("not done after an hour: \(outcomes.count) outcomes of \(sources.count)")
    }

    var isDone: Bool {
        outcomes.count >= sources.count
            && logs.allSatisfy { place, log in (group[place]?.offset ?? 0) == Int64(log.count) }
    }

    mutating func disturb() {
        let index = Int.random(in: processes.indices, using: &random)
        guard processes[index].frozenUntil == nil else { return }
        if chance(0.6) {
            crash(index)
        } else if chance(0.4) {
            // Others take its partitions meanwhile, or do not.
            let pause = Int64(Int.random(in: 1_000...12_000, using: &random))
            processes[index].frozenUntil = now + pause
            if pause > Self.sessionTimeout, let other = candidate() {
                unanswered += processes[index].tags.count
                for (partition, owner) in owners.sorted(by: { $0.key < $1.key }) where owner == index {
                    processes[index].stolen.insert(partition)
                    endTransaction(index, fenced: true)
                    assign(partition, to: other)
                }
            }
        } else if chance(0.8), let partition = owners.keys.sorted().randomElement(using: &random),
            let owner = owners[partition]
        {
            if processes[owner].frozenUntil == nil { processes[owner].core.revoke(partition, now: now) }
        }
    }

    mutating func crash(_ index: Int) {
        crashes += 1
        endTransaction(index, fenced: Bool.random(using: &random))
        retired += processes[index].core.possiblyTwice
        unanswered += processes[index].tags.count
        processes[index] = Process(core: Self.core(rates))
        for (partition, owner) in owners.sorted(by: { $0.key < $1.key }) where owner == index {
            assign(partition, to: candidate() ?? index)
        }
    }

    /// A process that partitions can be given to.
    mutating func candidate() -> Int? {
        processes.indices.filter { processes[$0].frozenUntil == nil && processes[$0].stolen.isEmpty }
            .randomElement(using: &random)
    }

    /// Partitions that their owner has given up go to another.
    mutating func rebalance() {
        for (partition, owner) in owners.sorted(by: { $0.key < $1.key }) where !processes[owner].core.owns(partition) {
            guard let other = candidate() else { continue }
            assign(partition, to: other)
        }
    }
}
