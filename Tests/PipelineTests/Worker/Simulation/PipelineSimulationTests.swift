import Foundation
import TestSupport
import Testing

@testable import Notifications

@Suite(
    "The pipeline at a simulated broker: crashes, unknown commits, moving partitions, old state",
    .timeLimit(.minutes(30))
)
struct PipelineSimulationTests {
    /// 6, or as many as `CARILLON_SIMULATION_SEEDS` says.
    private static let seeds =
        ProcessInfo.processInfo.environment["CARILLON_SIMULATION_SEEDS"].flatMap { UInt64($0) } ?? 6

    @Test(
        "each event, request and timer has one effect, in order, for the devices of then; journal and offsets say so"
    )
    func simulate() throws {
        let first = try RunSeed.value()
        var happened: [String: Int] = [:]
        for seed in first..<first + Self.seeds {
            let simulation = try PipelineSimulation(seed: seed)
            simulation.run()
            for problem in simulation.violations.prefix(5) {
                Issue.record("TEST_SEED=\(seed) CARILLON_SIMULATION_SEEDS=1: \(problem)")
            }
            happened.merge(simulation.happened, uniquingKeysWith: +)
        }
        // Otherwise it shows nothing.
        let often = ["pushes", "timers", "dead letters", "repeated requests", "waits"]
        let seldom = ["split instants", "picked", "too_late", "superseded"]
        for name in Self.seeds >= 100 ? often + seldom : Self.seeds >= 6 ? often : [] {
            #expect(happened[name, default: 0] > 0, "\(name): \(happened)")
        }
    }

    @Test(
        "without faults nothing is aborted, and all is counted: a timer that is not sent with its reason; no wait is in vain"
    )
    func quiet() throws {
        for seed in 0..<2 as Range<UInt64> {
            let simulation = try PipelineSimulation(seed: seed, isFaulty: false)
            simulation.run()
            #expect(simulation.violations == [] && simulation.counts.aborts == 0)
            #expect(simulation.happened["waits", default: 0] > 0 && simulation.happened["waits in vain"] == nil)
        }
    }

    @Test("a seed repeats, whatever order the dictionaries have")
    func repeats() throws {
        let first = try RunSeed.value()
        for seed in first..<first + 2 {
            let traces = try (0..<2).map { _ in
                let simulation = try PipelineSimulation(seed: seed)
                simulation.run()
                return simulation.trace
            }
            #expect(Set(traces).count == 1, "seed \(seed): \(traces)")
        }
    }
}
