import Foundation
import Telemetry
import TestSupport
import Testing

@Suite("Workers in transactions at a simulated broker", .timeLimit(.minutes(30)))
struct SimulationTests {
    private struct Silent: LogSink {
        func write(_ entry: LogEntry) {}
    }

    /// 200, or as many as `CARILLON_SIMULATION_SEEDS` says.
    private static let seeds =
        ProcessInfo.processInfo.environment["CARILLON_SIMULATION_SEEDS"].flatMap { UInt64($0) } ?? 200

    @Test(
        "whatever processes, clients and transactions do, each record is in the output once, in its order, and the offsets say so"
    )
    func exactlyOnce() throws {
        let first = try RunSeed.value()
        for seed in first..<first + Self.seeds {
            let violations = WorkerSimulation(seed: seed, sink: Silent()).run()
            #expect(violations == [], "TEST_SEED=\(seed) CARILLON_SIMULATION_SEEDS=1 repeats it")
        }
    }

    @Test("a seed repeats, whatever order the dictionaries have")
    func repeats() throws {
        let first = try RunSeed.value()
        for seed in first..<first + 10 {
            // Each dictionary has an order of its own.
            let traces = (0..<3).map { _ in
                let simulation = WorkerSimulation(seed: seed, sink: Silent())
                _ = simulation.run()
                return simulation.trace
            }
            #expect(Set(traces).count == 1, "seed \(seed): \(traces)")
        }
    }
}
