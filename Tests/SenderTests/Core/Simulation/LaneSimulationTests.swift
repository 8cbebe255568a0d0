import Foundation
import Notifications
import TestSupport
import Testing

@testable import Sender

@Suite(
    "A seeded simulation of a lane: crashes, frozen processes, rebalances, aborts, an outage", .timeLimit(.minutes(30))
)
struct LaneSimulationTests {
    /// 4, or as many as `CARILLON_SIMULATION_SEEDS` says.
    private static let seeds =
        ProcessInfo.processInfo.environment["CARILLON_SIMULATION_SEEDS"].flatMap { UInt64($0) } ?? 4

    @Test(
        "every record one outcome, a device's in order, none after its expiry, its broadcast, its cancel or in a pause, at most possibly_twice twice"
    )
    func simulate() throws {
        let first = try RunSeed.value()
        var happened: [String: Int] = [:]
        var (twice, unanswered, said) = (0, 0, 0)
        for seed in first..<first + Self.seeds {
            // A third has a device with most of the records, a third of these a window that is never full.
            let isWide = seed % 9 == 0
            let simulation = try LaneSimulation(
                seed: seed,
                .init(busyDevice: seed % 3 == 0 ? 60 : 0, window: isWide ? LaneOffset.largestWindow : 64))
            try simulation.run()
            let oracle = LaneOracle(simulation)
            for problem in oracle.problems.prefix(5) {
                Issue.record("TEST_SEED=\(seed) CARILLON_SIMULATION_SEEDS=1: \(problem)")
            }
            if isWide, oracle.needless > 0 {
                Issue.record(
                    "TEST_SEED=\(seed) CARILLON_SIMULATION_SEEDS=1: \(oracle.needless) retries without a failure")
            }
            twice += oracle.sentTwice
            unanswered += simulation.provider.unanswered
            said += oracle.possiblyTwice
            happened.merge(simulation.happened) { $0 + $1 }
            happened["processes", default: 0] += simulation.watches.count
            happened["hops", default: 0] += oracle.hops
            for outcome in oracle.outcomes { happened[outcome.outcome.rawValue, default: 0] += 1 }
            happened["waiting"] = max(happened["waiting"] ?? 0, simulation.mostWaiting)
        }
        // Otherwise it shows nothing.
        if Self.seeds >= 40 {
            // An upper bound that says something.
            #expect(said <= 10 * twice + unanswered)
            #expect(happened["processes"] ?? 0 > 3 * Int(Self.seeds) && twice > 0, "\(happened)")
            for name in ["aborts", "hops", "cancels", "pauses"] + DeliveryOutcome.allCases.map(\.rawValue) {
                #expect(happened[name] ?? 0 > 0, "\(name): \(happened)")
            }
            #expect(happened["waiting"] ?? 0 > 30)
        }
    }

    @Test("without faults each record is sent once, at once, and nothing is possibly twice")
    func quiet() throws {
        for seed in 0..<3 as Range<UInt64> {
            let simulation = try LaneSimulation(seed: seed, .init(isFaulty: false))
            try simulation.run()
            let oracle = LaneOracle(simulation)
            #expect(oracle.problems == [])
            #expect(oracle.possiblyTwice == 0 && simulation.provider.accepted.count == oracle.outcomes.count)
            #expect(
                oracle.hops == 0 && oracle.outcomes.allSatisfy { $0.attempts == 1 },
                "\(oracle.outcomes.filter { $0.attempts != 1 }.prefix(3))")
        }
    }

    @Test("a seed repeats, whatever order the dictionaries have")
    func repeats() throws {
        let first = try RunSeed.value()
        for seed in first..<first + 2 {
            let traces = try (0..<2).map { _ in
                let simulation = try LaneSimulation(seed: seed)
                try simulation.run()
                return simulation.trace
            }
            #expect(Set(traces).count == 1, "seed \(seed): \(traces)")
        }
    }
}
