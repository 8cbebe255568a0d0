import Foundation
import JSONReader
import KafkaClient
import Notifications
import Pipeline
import StateStore
import TestSupport
import Testing

@testable import Registrar

/// One partition of subscriptions: devices come and go while a registrar that reads late takes dead ones out, dies, and
/// begins again with its table, an old one or none.
private struct BurialSimulation {
    private static let keys = (0..<4).map { SubscriptionKey(audience: "place/\($0)", token: "token") }
    private static let topic = PipelineConfiguration.Topics().subscriptions

    private var random: SeededGenerator
    private(set) var log: [LoggedSubscription] = []
    private var now: WallTime = 1_000
    private var evidence: [SubscriptionKey: WallTime] = [:]
    private var command: Int64 = 0

    // The registrar.
    private var store = MemoryStore()
    private var fold: RegistrarFold
    private var own = OwnWrites()
    private var read = 0

    private(set) var (restored, crashes, doubts, nulls) = (0, 0, 0, 0)

    init(seed: UInt64) throws {
        random = SeededGenerator(seed: seed)
        fold = try Self.open(store)
    }

    private static func open(_ store: MemoryStore) throws -> RegistrarFold {
        let table = try RegistrarTable(store)
        let empty = RegistrarCheckpoint(
            cluster: nil, time: 0, positions: [TopicPartition(topic: topic, partition: 0): 0])
        return RegistrarFold(
            table, PipelineConfiguration.Topics(),
            at: try table.checkpoint().flatMap { RegistrarCheckpoint($0) } ?? empty)
    }

    private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    // MARK: The others

    private mutating func others() {
        var reader = JSONReader()
        while chance(60) {
            now = now + Int64.random(in: 1...20, using: &random)
            var record = LoggedSubscription(
                partition: 0, offset: Int64(log.count), key: Self.keys.randomElement(using: &random)!)
            if chance(65) {
                let value = Subscription(audience: record.key.audience, token: "token", platform: .fcm, app: "shop")
                    .encoded()
                record.entry = SubscriptionEntry(record.key, value, written: now, &reader)
                (record.value, record.time) = (value, now)
            }
            log.append(record)
        }
    }

    // MARK: The registrar

    /// What the tenant does between two transactions.
    private mutating func refresh(_ count: Int) throws {
        let until = min(read + count, log.count)
        for change in log[read..<until] where own.isNews(change) && change.offset >= fold.position(0) {
            fold.table.set(change.key, change.entry)
        }
        read = until
        fold.table.commit()
        fold.reached([TopicPartition(topic: Self.topic, partition: 0): Int64(read)])
        fold.needed = own.needed
    }

    /// A transaction: what was overwritten, then perhaps a decision. Others write while it is open.
    private mutating func transaction(_ buries: Bool) throws {
        let again = Array(own.overwritten.values)
        for entry in again { fold.table.set(entry.theirs.key, entry.theirs.entry) }
        var buried: (key: SubscriptionKey, mark: BurialMark)?
        if buries {
            let key = Self.keys.randomElement(using: &random)!
            let time = now - Int64.random(in: 0...40, using: &random)
            if let facts = try fold.table.subscription(key)?.facts, facts.newest < time {
                buried = (key, BurialMark(evidence: time, known: fold.position(0)))
                fold.table.set(key, nil)
            }
        }
        others()
        if chance(10) { return try crash() }
        for entry in again {
            append(entry.theirs.key, entry.theirs.entry, entry.by.command, entry.mark)
            others()
        }
        if let buried {
            command += 1
            append(buried.key, nil, command, buried.mark)
            evidence[buried.key] = max(evidence[buried.key] ?? 0, buried.mark.evidence)
            nulls += 1
        }
        others()
        if chance(10) { return try crash() }
        fold.table.commit()
        for entry in again { own.restored(entry) }
        restored += again.count
        if let buried { own.committed([buried.key], for: command) { _ in buried.mark } }
    }

    private mutating func append(
        _ key: SubscriptionKey, _ entry: SubscriptionEntry?, _ command: Int64, _ mark: BurialMark?
    ) {
        log.append(
            LoggedSubscription(
                partition: 0, offset: Int64(log.count), key: key, entry: entry, command: command, mark: mark))
    }

    /// Another one begins, with the table that was stored or none.
    private mutating func crash() throws {
        crashes += 1
        if chance(30) { store = MemoryStore() }
        fold = try Self.open(store)
        own = OwnWrites()
        for change in log[Int(fold.position(0))...] { try fold.take(change) }
        fold.table.commit()
        fold.reached([TopicPartition(topic: Self.topic, partition: 0): Int64(log.count)])
        if chance(50) { try fold.flush() }
        let doubts = fold.takeDoubts()
        self.doubts += doubts.count
        for (key, doubt) in doubts { own.note(doubt, of: key) }
        fold.needed = own.needed
        read = Int(fold.subscriptionPositions(from: [:]).values.first?.value ?? 0)
    }

    mutating func run() throws {
        for _ in 0..<80 {
            others()
            try refresh(Int.random(in: 0..<12, using: &random))
            try transaction(chance(50))
            if chance(10) { try fold.flush() }
            if chance(4) { try crash() }
        }
        // In the end it reads everything, and nobody disturbs it.
        repeat {
            try refresh(.max / 2)
            for entry in own.overwritten.values {
                append(entry.theirs.key, entry.theirs.entry, entry.by.command, entry.mark)
                fold.table.set(entry.theirs.key, entry.theirs.entry)
                own.restored(entry)
                restored += 1
            }
            fold.table.commit()
        } while read < log.count
    }

    /// What is wrong in the end.
    func problems() throws -> [String] {
        var problems: [String] = []
        for key in Self.keys {
            let last = log.last { $0.key == key }?.entry
            let theirs = log.last { $0.key == key && $0.command == nil }?.entry
            if try fold.table.subscription(key) != last { problems.append("the table does not know \(key.audience)") }
            if theirs == nil, last != nil { problems.append("\(key.audience) unsubscribed, and is back") }
            if let last, last != theirs { problems.append("\(key.audience) is an older one again") }
            if let newest = theirs?.facts?.newest, newest >= evidence[key] ?? 0, last == nil {
                problems.append("\(key.audience) registered after the evidence, and is gone")
            }
        }
        return problems
    }
}

@Suite("A seeded simulation of a registrar that takes dead devices out while they come and go")
struct BurialSimulationTests {
    /// 100, or as many as `CARILLON_SIMULATION_SEEDS` says.
    private static let seeds =
        ProcessInfo.processInfo.environment["CARILLON_SIMULATION_SEEDS"].flatMap { UInt64($0) } ?? 100

    @Test("nobody who registered after the evidence is gone, and nobody who unsubscribed is back, over crashes")
    func simulate() throws {
        var (restored, crashes, doubts, nulls) = (0, 0, 0, 0)
        for seed in 0..<Self.seeds {
            var simulation = try BurialSimulation(seed: seed)
            try simulation.run()
            for problem in try simulation.problems().prefix(5) { Issue.record("seed \(seed): \(problem)") }
            restored += simulation.restored
            crashes += simulation.crashes
            doubts += simulation.doubts
            nulls += simulation.nulls
        }
        // Otherwise it shows nothing.
        #expect(restored > 0 && crashes > 0 && doubts > 0 && nulls > 0, "\([restored, crashes, doubts, nulls])")
    }
}
