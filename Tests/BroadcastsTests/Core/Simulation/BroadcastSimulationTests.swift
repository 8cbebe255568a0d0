import Foundation
import TestSupport
import Testing

@testable import Broadcasts

@Suite(
    "Broadcasts at a simulated broker: crashes, unknown commits, moving partitions, compaction",
    .timeLimit(.minutes(30))
)
struct BroadcastSimulationTests {
    /// 12, or as many as `CARILLON_SIMULATION_SEEDS` says.
    private static let seeds =
        ProcessInfo.processInfo.environment["CARILLON_SIMULATION_SEEDS"].flatMap { UInt64($0) } ?? 12

    @Test(
        "a stay in a channel gets each broadcast that reaches it once and in order, nothing else is sent, the journal says so"
    )
    func simulate() throws {
        let first = try RunSeed.value()
        var happened: [String: Int] = [:]
        for seed in first..<first + Self.seeds {
            let simulation = try BroadcastSimulation(seed: seed)
            try simulation.run()
            for problem in problems(of: simulation).prefix(5) {
                Issue.record("TEST_SEED=\(seed) CARILLON_SIMULATION_SEEDS=1: \(problem)")
            }
            happened.merge(simulation.happened) { $0 + $1 }
        }
        // Otherwise it shows nothing.
        let often = [
            "recreates its producer", "recreates its consumer", "lost its partitions", "the channels of",
            "pushes of passes", "pushes to joiners", "stale", "dead letters", "done", "skipped", "slices that continue",
            "looks ahead", "broadcasts spared by a rotation",
        ]
        let seldom = ["compacted", "tables stood still", "cancelled", "expired"]
        for name in Self.seeds >= 300 ? often + seldom : Self.seeds >= 12 ? often : [] {
            #expect(happened[name, default: 0] > 0, "\(name): \(happened)")
        }
    }

    @Test("without faults nothing is folded again, and all is sent")
    func quiet() throws {
        for seed in 0..<3 as Range<UInt64> {
            var size = BroadcastSimulation.Size()
            size.isFaulty = false
            let simulation = try BroadcastSimulation(seed: seed, size)
            try simulation.run()
            #expect(problems(of: simulation).isEmpty)
            #expect(simulation.happened["recreates its producer"] == nil)
            #expect(simulation.happened["the channels of"] == nil)
        }
    }

    @Test("a seed repeats, whatever order the dictionaries have")
    func repeats() throws {
        let first = try RunSeed.value()
        for seed in first..<first + 3 {
            let traces = try (0..<2).map { _ in
                let simulation = try BroadcastSimulation(seed: seed)
                try simulation.run()
                return simulation.trace
            }
            #expect(Set(traces).count == 1, "seed \(seed): \(traces)")
        }
    }

    private func problems(of simulation: BroadcastSimulation) -> [String] {
        let oracle = BroadcastOracle(simulation)
        simulation.summarize(oracle)
        return simulation.violations + oracle.check()
    }
}
