import Foundation
import Testing

@testable import Sender

@Suite("A seeded simulation of reapers: crashes, lost answers and take-overs while devices come and go")
struct ReapSimulationTests {
    /// 30, or as many as `CARILLON_SIMULATION_SEEDS` says.
    private static let seeds =
        ProcessInfo.processInfo.environment["CARILLON_SIMULATION_SEEDS"].flatMap { UInt64($0) } ?? 30

    /// Each argument takes every third seed, so that the cores share them.
    @Test(
        "nobody who registered after the evidence is gone, nobody who unsubscribed is back, no dead device stays",
        arguments: UInt64(0)..<3)
    func simulate(first: UInt64) {
        var happened: [String: Int] = [:]
        for seed in stride(from: first, to: Self.seeds, by: 3) {
            let simulation = ReapSimulation(seed: seed)
            simulation.run()
            for problem in simulation.problems().prefix(5) { Issue.record("seed \(seed): \(problem)") }
            happened["crashes", default: 0] += simulation.crashes
            happened["lost answers", default: 0] += simulation.lost
            happened["taken over", default: 0] += simulation.takenOver
            happened["restored", default: 0] += simulation.restored
            happened["nulls", default: 0] += simulation.nulls
        }
        // Otherwise it shows nothing.
        for name in ["crashes", "lost answers", "taken over", "restored", "nulls"] {
            #expect(happened[name, default: 0] > 0, "\(name): \(happened)")
        }
    }
}
