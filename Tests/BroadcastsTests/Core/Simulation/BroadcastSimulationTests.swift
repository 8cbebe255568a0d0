import Foundation
import Testing

@testable import Broadcasts

@Suite("A seeded simulation of broadcasts: crashes, unknown commits, moving partitions, lost stores, compaction")
struct BroadcastSimulationTests {
    /// 30, or as many as `CARILLON_SIMULATION_SEEDS` says.
    private static let seeds =
        ProcessInfo.processInfo.environment["CARILLON_SIMULATION_SEEDS"].flatMap { UInt64($0) } ?? 30

    /// Each argument takes every third seed, so that the cores share them.
    @Test(
        "a stay in a channel gets each broadcast that reaches it once and in order, nothing else is sent, the journal says so",
        arguments: UInt64(0)..<3)
    func simulate(first: UInt64) throws {
        print("broadcasts: seeds \(first), \(first + 3), … below \(Self.seeds)")
        var happened: [String: Int] = [:]
        for seed in stride(from: first, to: Self.seeds, by: 3) {
            let simulation = try BroadcastSimulation(seed: seed)
            try simulation.run()
            for problem in problems(of: simulation).prefix(5) { Issue.record("seed \(seed): \(problem)") }
            happened.merge(simulation.happened) { $0 + $1 }
        }
        // Otherwise it shows nothing.
        for name in [
            "died", "aborted", "fenced", "unknown, committed", "unknown, aborted", "rebalances", "did not know",
            "folds",
            "lost stores", "stores", "stores that were behind", "stores that were wiped", "tables that stood still",
            "compacted", "pushes of passes", "pushes to joiners", "stale", "dead letters", "done", "cancelled",
            "expired", "skipped", "slices that continue",
        ] {
            #expect(happened[name, default: 0] > 0, "\(name): \(happened)")
        }
    }

    @Test("without faults nothing is folded again, and all is sent")
    func quiet() throws {
        for seed in 0..<3 as Range<UInt64> {
            var size = BroadcastSimulation.Size()
            size.failures = 0
            let simulation = try BroadcastSimulation(seed: seed, size)
            try simulation.run()
            #expect(problems(of: simulation).isEmpty)
            #expect(simulation.happened["died"] == nil && simulation.happened["lost stores"] == nil)
        }
    }

    /// With `CARILLON_SIMULATION_DEVICES`, such as 1000000.
    @Test(
        "the same with very many devices",
        .enabled(if: ProcessInfo.processInfo.environment["CARILLON_SIMULATION_DEVICES"] != nil))
    func large() throws {
        let count = ProcessInfo.processInfo.environment["CARILLON_SIMULATION_DEVICES"].flatMap { Int($0) } ?? 1
        let size = BroadcastSimulation.Size(
            partitions: 16, devices: count, channels: 2, workers: 3, steps: 300, mostRecords: 10_000, publishes: 3,
            failures: 5, mostChanges: 500)
        let simulation = try BroadcastSimulation(seed: 1, size)
        for device in 0..<count {
            simulation.append(
                .init(time: simulation.now, key: .init(device: device, channel: 0), seen: simulation.now))
        }
        try simulation.run()
        let problems = problems(of: simulation)
        #expect(problems.isEmpty, "\(problems.prefix(5))")
        print("\(count) devices: \(simulation.happened.sorted { $0.key < $1.key })")
    }

    private func problems(of simulation: BroadcastSimulation) -> [String] {
        simulation.summarize()
        var problems = BroadcastOracle(simulation).check()
        for name in ["never idle", "stores ahead of the group"] where simulation.happened[name] != nil {
            problems.append(name)
        }
        return problems
    }
}
