import Hosting
import KafkaClient
import KafkaSimulation
import Notifications
import Pipeline
import Streaming
import Telemetry
import TestSupport

@testable import Broadcasts

/// Broadcasts and subscriptions at a simulated broker, and processes that send them: the real worker, on real stores.
///
/// `@unchecked Sendable`: only the thread with the baton touches it.
final class BroadcastSimulation: @unchecked Sendable {
    struct Size {
        var partitions: Int32 = 3
        var devices = 24
        var channels = 3
        var seconds = 20...200
        var mostRecords = 12
        /// One in so many moments has a broadcast.
        var publishes = 8
        var mostChanges = 6
        var isFaulty = true
        /// A process may be stopped for another second between its look at what is ahead and its transaction.
        var oldestLook: Int64 { isFaulty ? 2_000 : 1_000 }
    }

    static let start: WallTime = 1_751_875_337_000
    static let maxAge: Int64 = 20_000
    static let mostLate = 3
    /// Records of the topic of broadcasts are deleted after it.
    static let retention: Int64 = 30_000
    /// How long a broadcast can be valid.
    static let longestLife: Int64 = 20_000

    let size: Size
    private(set) var subscriptions: [SimulatedSubscriptions]
    private(set) var broadcasts = TestBroadcasts()
    /// By number; hashing a token takes long.
    let devices: [TestDevice]
    /// Who is subscribed, with the last version of each.
    private var live: Set<SimulatedSubscriptions.Key> = []
    private var producers = 0
    /// By slot, the newest.
    private var volumes: [Int: Int] = [:]
    private(set) var transactions: [SimulatedTransaction] = []
    private let kafka: SimulatedKafka
    private let configuration: PipelineConfiguration
    private let folder = TemporaryFolder(isInMemory: true)
    private let log = Happenings()
    /// What was not true, beside what the oracle finds.
    private(set) var violations: [String] = []
    /// What has happened, so that a test can tell that it shows something.
    var happened: [String: Int] { log.counts }

    private var baton: Baton { kafka.baton }
    /// See ``Baton/trace``.
    var trace: UInt64 { baton.trace }
    var now: WallTime { kafka.now }

    init(seed: UInt64, _ size: Size = Size()) throws {
        self.size = size
        subscriptions = Array(repeating: SimulatedSubscriptions(), count: Int(size.partitions))
        devices = (0..<size.devices).map { TestDevice($0) }
        var configuration = PipelineConfiguration(
            kafka: [:], stateDirectory: folder.path, rules: try ExtractionRules(), instanceID: "test", workers: 1)
        configuration.topics.broadcasts = "broadcasts"
        configuration.topics.subscriptions = "subscriptions"
        configuration.subscriptionsMaxAge = .milliseconds(Self.maxAge)
        configuration.broadcasts.mostLate = Self.mostLate
        configuration.commitMaxRecords = size.mostRecords
        configuration.transactionTimeout = .seconds(20)
        configuration.commitInterval = .milliseconds(100)
        let topics = configuration.topics
        kafka = SimulatedKafka(
            seed: seed,
            topics: [
                topics.subscriptions: size.partitions, topics.broadcastDispatch: 1, topics.broadcastJournal: 1,
                topics.deadLetters: 1,
            ], start: Self.start)
        self.configuration = configuration
        for partition in 0..<size.partitions {
            let first = BroadcastOffset(offset: 0, partitions: size.partitions, time: Self.start, broadcast: 0)
            kafka.offsets[topicPartition(partition)] = CommittedOffset(offset: Offset(0), metadata: first.metadata)
        }
    }

    static func channel(_ number: Int) -> String { "channel/\(number)" }

    func partition(_ key: SimulatedSubscriptions.Key) -> Int32 {
        Murmur2.partition(of: devices[key.device].key(in: Self.channel(key.channel)), count: size.partitions)
    }

    private func topicPartition(_ partition: Int32) -> TopicPartition {
        TopicPartition(topic: configuration.topics.subscriptions, partition: partition)
    }

    // MARK: What happens

    func run() throws {
        let role = SimulatedRole(kafka) { [self] slot, process, host, isStatic in
            try work(slot, process, host, isStatic)
        }
        arrive(at: role)
        role.run(for: .seconds(baton.draw(size.seconds)), isFaulty: size.isFaulty) { [self] in unfinished.isEmpty }
        violations = role.violations
        try readTransactions()
    }

    private func arrive(at role: SimulatedRole) {
        baton.after(baton.milliseconds(20...800)) { [self] in
            guard !role.isOver else { return }
            if !baton.isOne(of: 3) { change(isTransaction: baton.isOne(of: 4)) }
            if baton.isOne(of: size.publishes) { broadcast() }
            if baton.isOne(of: 20) { compact() }
            arrive(at: role)
        }
    }

    /// Some changes, one by one or in a transaction, which ends in each partition by itself.
    private func change(isTransaction: Bool) {
        producers += 1
        let producer = isTransaction ? producers : nil
        var written: [Int32: [Int]] = [:]
        for _ in 0..<baton.draw(1...size.mostChanges) {
            let (partition, offset) = change(by: producer)
            written[partition, default: []].append(offset)
        }
        guard let producer else { return }
        let isCommit = !baton.isOne(of: 3)
        for (partition, offsets) in written.sorted(by: { $0.key < $1.key }) {
            baton.after(baton.milliseconds(0...2_000)) { [self] in
                if !isCommit { subscriptions[Int(partition)].abort(offsets) }
                kafka.mark(topicPartition(partition), of: producer, isCommit: isCommit)
                let record = subscriptions[Int(partition)].records[offsets[0]]
                write(.init(time: now, key: record.key, isMalformed: true), to: partition)
            }
        }
    }

    private func change(by producer: Int?) -> (partition: Int32, offset: Int) {
        let key = SimulatedSubscriptions.Key(
            device: baton.draw(0...size.devices - 1), channel: baton.draw(0...size.channels - 1))
        if baton.isOne(of: 30) { return append(.init(time: now, key: key, isMalformed: true), by: producer) }
        // Most that are there stay, and are refreshed now and then.
        if live.contains(key), baton.draw(1...5) < 3 {
            live.remove(key)
            return append(.init(time: now, key: key), by: producer)
        }
        if !live.contains(key), baton.isOne(of: 20) { return append(.init(time: now, key: key), by: producer) }
        if !live.contains(key), baton.isOne(of: 4) {
            // It does not stay.
            baton.after(baton.milliseconds(20...4_000)) { [self] in _ = append(.init(time: now, key: key), by: nil) }
        } else {
            live.insert(key)
        }
        let age = baton.isOne(of: 7) ? Int64(baton.draw(0...2 * Int(Self.maxAge))) : 0
        var record = SimulatedSubscriptions.Record(time: now, key: key, seen: now - age)
        if baton.isOne(of: 3) { record.since = baton.isOne(of: 5) ? "-1" : "\((now - 1_000_000).milliseconds)" }
        return append(record, by: producer)
    }

    private func append(
        _ record: SimulatedSubscriptions.Record, by producer: Int?
    ) -> (partition: Int32, offset: Int) {
        let partition = partition(record.key)
        let device = devices[record.key.device]
        let channel = Self.channel(record.key.channel)
        let offset = kafka.append(
            ProducerRecord(
                key: record.isMalformed ? Array("nobody".utf8) : device.key(in: channel),
                value: record.seen.map { device.value(in: channel, seen: $0) },
                headers: record.since.map { [RecordHeader("since", Array($0.utf8))] } ?? [], timestamp: record.time),
            to: topicPartition(partition), by: producer)
        write(record, to: partition)
        return (partition, offset)
    }

    /// Notes what the log has.
    private func write(_ record: SimulatedSubscriptions.Record, to partition: Int32) {
        subscriptions[Int(partition)].append(record)
        subscriptions[Int(partition)].isReadable(upTo: kafka.logs[topicPartition(partition)]?.lastStable ?? 0, at: now)
    }

    private func broadcast() {
        let id = "\(baton.draw(0...11))"
        switch baton.draw(0...19) {
        case 0..<3: broadcasts.append(id, .cancelled, at: now)
        case 3..<5: broadcasts.append(id, .unreadable, at: now)
        case 5..<8:
            // One of the latest is cancelled or corrected, likely while it is sent.
            guard let latest = broadcasts.entries.last else { return }
            broadcasts.append(latest.id, baton.isOne(of: 2) ? .cancelled : latest.kind, at: now)
        default:
            let lifetime = Int64(baton.draw(0...Int(baton.isOne(of: 4) ? 2_000 : Self.longestLife)))
            let audience = Self.channel(baton.draw(0...size.channels - 1))
            broadcasts.append(id, .published(audience: audience, lifetime: lifetime), at: now)
        }
    }

    private func compact() {
        for number in subscriptions.indices {
            let topicPartition = topicPartition(Int32(number))
            let read = kafka.offsets[topicPartition]?.offset.value ?? 0
            for offset in subscriptions[number].compact(at: now, below: read) {
                kafka.remove(offset, of: topicPartition)
            }
        }
    }

    // MARK: A process

    /// What a process keeps is lost now and then, or is that of long ago.
    private func volume(of slot: Int) -> Int {
        var volume = volumes[slot] ?? 0
        if baton.isOne(of: 7) {
            volume += 1
            volumes[slot] = volume
        }
        return baton.isOne(of: 20) ? baton.draw(0...volume) : volume
    }

    private func work(_ slot: Int, _ process: SimulatedProcess, _ host: RoleHost, _ isStatic: Bool) throws {
        var configuration = configuration
        configuration.stateDirectory += "/\(slot)/\(volume(of: slot))"
        configuration.staticMembership = isStatic
        let logger = Logger(label: "worker \(slot)", sink: log)
        let metrics = Metrics()
        let context = BroadcastContext(
            host, configuration, includesValid: false,
            log: .init(
                cluster: nil, partitions: size.partitions,
                largestTableAge: SimulatedSubscriptions.deleteRetention / 2,
                compactionLag: BroadcastContext.SubscriptionsLog.leastCompactionLag),
            follower: BroadcastFollower(configuration, logger: logger, metrics: metrics), ends: SubscriptionEnds(),
            clients: process, meter: BroadcastMeter(metrics: metrics))
        let number = Slot(instance: "\(slot)", number: 0)
        baton.start { [self] in follow(process, context) }
        var worker = try StreamWorker(
            BroadcastTenant.contract(of: number, context), host, metrics, logger: logger
        ) { BroadcastTenant(number, context, $0, logger: logger) }
        let result = Result { try worker.run() }
        worker.close()
        try result.get()
    }

    /// What two threads beside the worker learn of its logs.
    private func follow(_ process: SimulatedProcess, _ context: BroadcastContext) {
        let topicPartitions = (0..<size.partitions).map(topicPartition)
        while !context.mustEnd {
            let (asked, oldest) = (context.now, now - Self.retention)
            do {
                let ends = try process.endOffsets(topicPartitions, [:], { _ in })
                context.ends.answered(
                    Dictionary(uniqueKeysWithValues: ends.map { ($0.key.partition, $0.value.value) }), askedAt: asked)
                let end = broadcasts.end
                try process.request("read", of: .reader, deadline: .seconds(1))
                context.follower.publish(
                    BroadcastView(
                        records: broadcasts.records(below: end, since: oldest), reached: end, freshSince: asked))
            } catch {}
            process.pause(baton.milliseconds(100...400))
        }
    }

    // MARK: What was written

    /// What the group has not come to the end of.
    var unfinished: [String] {
        let newest = broadcasts.entries.last { entry in
            entry.kind != .cancelled && broadcasts.isNewest(entry, below: broadcasts.end)
                && entry.time >= now - Self.retention
        }
        return (0..<size.partitions).compactMap { partition in
            let committed = kafka.offsets[topicPartition(partition)]
            let last = committed.flatMap { BroadcastOffset(offset: $0.offset.value, metadata: $0.metadata) }
            let isDone =
                last?.offset ?? 0 >= subscriptions[Int(partition)].end && last?.pass == nil
                && last?.broadcast ?? 0 > newest?.offset ?? -1
            return isDone ? nil : "partition \(partition) ends with \(String(describing: last))"
        }
    }

    /// The transactions as their readers see them.
    private func readTransactions() throws {
        let topics = configuration.topics
        func written(_ topic: String) -> [SimulatedKafka.Entry] {
            kafka.logs[TopicPartition(topic: topic, partition: 0)]?.entries.filter(\.isCommitted) ?? []
        }
        let dispatches = Dictionary(grouping: written(topics.broadcastDispatch), by: \.transaction)
        let letters = Dictionary(grouping: written(topics.deadLetters), by: \.transaction)
        let commits = Dictionary(kafka.commits.map { ($0.transaction, $0) }) { $1 }
        let journals = written(topics.broadcastJournal)
        let unknown = Set(dispatches.keys).union(letters.keys).subtracting(journals.map(\.transaction))
        if !unknown.isEmpty { violations.append("transactions \(unknown.sorted()) have no journal") }
        for entry in journals {
            guard let record = entry.record, let value = record.value, let commit = commits[entry.transaction] else {
                violations.append("transaction \(entry.transaction) has a journal and no offsets")
                continue
            }
            let journal = try value.withUnsafeBytes { try BroadcastJournalEntry(json: $0) }
            let pushes = (dispatches[entry.transaction] ?? []).compactMap(\.record).map(Self.push)
            let passes = journal.passes.reduce(0) { $0 + $1.sent }
            transactions.append(
                SimulatedTransaction(
                    clock: journal.clock, appended: record.timestamp ?? .epoch, view: journal.broadcasts,
                    moves: moves(commit, journal),
                    passes: Array(pushes.prefix(passes)), late: Array(pushes.dropFirst(passes)),
                    letters: (letters[entry.transaction] ?? []).compactMap {
                        Int64(Self.text("__connect.errors.offset", of: $0.record))
                    },
                    entry: journal))
        }
        if transactions.count != kafka.commits.count {
            violations.append("\(kafka.commits.count) transactions, and \(transactions.count) journals")
        }
    }

    private func moves(
        _ commit: SimulatedKafka.Commit, _ journal: BroadcastJournalEntry
    ) -> [Int32: SimulatedTransaction.Move] {
        func offset(_ committed: CommittedOffset?) -> BroadcastOffset? {
            committed.flatMap { BroadcastOffset(offset: $0.offset.value, metadata: $0.metadata) }
        }
        var moves: [Int32: SimulatedTransaction.Move] = [:]
        for (topicPartition, committed) in commit.after {
            guard let before = offset(commit.before[topicPartition]), let after = offset(committed) else { continue }
            let range = journal.ranges.first { $0.partition == topicPartition.partition }
            moves[topicPartition.partition] = .init(before: before, after: after, known: range?.ahead ?? after.offset)
        }
        return moves
    }

    private static func push(_ record: ProducerRecord) -> RecordedPushes.Push {
        let source = text(DispatchHeader.source.name.description, of: record).split(separator: "/").last
        return RecordedPushes.Push(
            device: String(decoding: record.key ?? [], as: UTF8.self), broadcast: source.flatMap { Int64($0) } ?? -1)
    }

    private static func text(_ header: String, of record: ProducerRecord?) -> String {
        String(decoding: record?.headers.first { $0.name == header }?.value ?? [], as: UTF8.self)
    }

    // MARK: What has happened

    /// Counts what the transactions did.
    func summarize(_ oracle: BroadcastOracle) {
        log.note("broadcasts spared by a rotation", oracle.spared)
        for transaction in transactions {
            log.note("pushes of passes", transaction.passes.count)
            log.note("pushes to joiners", transaction.late.count)
            log.note("dead letters", transaction.letters.count)
            log.note("skipped", transaction.entry.skipped.count)
            log.note("looks ahead", transaction.entry.ranges.count { $0.ahead != nil })
            for slice in transaction.entry.passes {
                log.note("stale", slice.stale)
                log.note(slice.end?.rawValue ?? "slices that continue")
            }
        }
        log.note("compacted", subscriptions.reduce(0) { $0 + $1.removals })
    }
}

/// Counts the lines of logs by their beginnings, and other things by name.
final class Happenings: LogSink, @unchecked Sendable {
    private static let lines = [
        "recreates its producer", "recreates its consumer", "asks where its partitions are", "lost its partitions",
        "the channels of", "tables stood still", "could not commit before",
    ]
    private(set) var counts: [String: Int] = [:]

    func note(_ what: String, _ count: Int = 1) { counts[what, default: 0] += count }

    func write(_ entry: LogEntry) {
        for line in Self.lines where entry.message.hasPrefix(line) { note(line) }
    }
}
