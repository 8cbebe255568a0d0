import Notifications
import Registrar
import TestSupport

@testable import KafkaClient
@testable import Sender

/// Devices and a provider; reapers that crash, lose answers and run beside each other. Single-threaded: what happens
/// meanwhile happens inside the calls of a reaper's log, also a whole run of another reaper.
final class ReapSimulation {
    struct Crash: Error {}

    /// More dead devices than ten would wait for a person.
    static let numbers = 10

    private var random: SeededGenerator
    private var now: WallTime = 1_000_000_000
    private var deliveries = [[DeliveryRecord]](repeating: [], count: 2)
    fileprivate var commands: [Command] = []
    fileprivate var group: [Int32: CommittedOffset] = [:]
    private var isQuiet = false
    private var depth = 0
    // What has happened, so that a test can tell that it shows something.
    private(set) var (crashes, lost, beside, told) = (0, 0, 0, 0)

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    private func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    /// The provider answers about a device: those of one are in one partition.
    private func push(_ number: Int, isDead: Bool) {
        deliveries[number % 2].append(
            ReapSamples.outcome(
                isDead ? .deadDevice : .accepted, number, evidence: isDead ? now : nil, status: isDead ? 404 : 200,
                sent: now))
    }

    private func meanwhile() {
        guard !isQuiet else { return }
        for _ in 0..<Int.random(in: 0..<4, using: &random) {
            now += Int64.random(in: 0..<120_000, using: &random)
            push(Int.random(in: 0..<Self.numbers, using: &random), isDead: chance(30))
        }
        if depth < 3, chance(6) {
            beside += 1
            reap()
        }
    }

    /// Others act, and the process may die, before or after the call has had its effect.
    fileprivate func pass() throws {
        meanwhile()
        guard !isQuiet else { return }
        if chance(5) {
            crashes += 1
            throw Crash()
        }
        if chance(5) {
            lost += 1
            throw KafkaError(kind: .timedOut, recovery: .retry, name: "", message: "no answer", operation: "")
        }
    }

    /// One run; it may end in any way.
    private func reap() {
        depth += 1
        defer { depth -= 1 }
        let run = ReapRun(SimulatedReapLog(self))
        do {
            let plan = try run.plan(now: now)
            // A person may take long to confirm.
            meanwhile()
            let approval: ReapApproval = chance(20) ? .everything : .withinLimit
            do {
                told += try run.perform(plan, approval).devices
            } catch is KafkaError {
                told += try run.perform(plan, approval).devices
            }
        } catch {
            // A crash, or an answer that was lost again.
        }
    }

    func run() throws {
        for _ in 0..<60 {
            meanwhile()
            if chance(40) { reap() }
        }
        isQuiet = true
        // Somebody's push is accepted after them, or their evidence would wait; a person confirms what is held.
        now += 1_000
        push(Self.numbers, isDead: false)
        now += 1_200_000
        let run = ReapRun(SimulatedReapLog(self))
        _ = try run.perform(run.plan(now: now), .everything)
    }

    fileprivate func read(
        from starts: [Int32: Int64], since time: WallTime, _ take: (DeliveryRecord, Int32, Int64, Bool) -> Void
    ) -> [Int32: Int64] {
        var ends: [Int32: Int64] = [:]
        for (partition, records) in deliveries.enumerated() {
            let start = Int(starts[Int32(partition)] ?? 0)
            let first = records.firstIndex { $0.lastSentAt ?? 0 >= time } ?? start
            for index in min(start, first)..<records.count {
                take(records[index], Int32(partition), Int64(index), index < start)
            }
            ends[Int32(partition)] = Int64(records.count)
        }
        return ends
    }

    /// What is wrong in the end: by device the newest evidence, and the newest of which the registrar was told.
    func problems() -> [String] {
        let outcomes = deliveries.joined().compactMap { record in record.evidence.map { (record.device, $0) } }
        let told = commands.compactMap { command -> (String, WallTime)? in
            guard case .buryAddress(let address, let evidence) = command.action else { return nil }
            return (address.hex, evidence.death.at)
        }
        let known = Dictionary(outcomes, uniquingKeysWith: max)
        let found = Dictionary(told, uniquingKeysWith: max)
        return known == found ? [] : ["evidence: \(known), told: \(found)"]
    }
}

/// The log of one simulated process.
private final class SimulatedReapLog: ReapLog {
    private unowned let world: ReapSimulation

    init(_ world: ReapSimulation) {
        self.world = world
    }

    func committed() throws -> [Int32: CommittedOffset] {
        try world.pass()
        return world.group
    }

    func readDeliveries(
        from starts: [Int32: Int64], since time: WallTime, take: (DeliveryRecord, Int32, Int64, Bool) -> Void
    ) throws -> [Int32: Int64] {
        try world.pass()
        return world.read(from: starts, since: time, take)
    }

    func write(_ commands: [Command]) throws {
        for command in commands {
            try world.pass()
            world.commands.append(command)
        }
        try world.pass()
    }

    func commit(_ offsets: [Int32: CommittedOffset]) throws {
        try world.pass()
        world.group = offsets
        try world.pass()
    }
}
