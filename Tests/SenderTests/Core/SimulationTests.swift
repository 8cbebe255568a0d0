import Foundation
import Notifications
import Testing

@testable import Sender

@Suite("A seeded simulation of a lane: crashes, frozen processes, rebalances, aborts, an outage")
struct LaneSimulationTests {
    /// 60, or as many as `CARILLON_SIMULATION_SEEDS` says.
    private static let seeds =
        ProcessInfo.processInfo.environment["CARILLON_SIMULATION_SEEDS"].flatMap { UInt64($0) } ?? 60

    /// Each argument takes every sixth seed, so that the cores share them.
    @Test(
        "every record one outcome, a device's in order, none after its expiry or its broadcast, at most possibly_twice twice",
        arguments: UInt64(0)..<6)
    func simulate(first: UInt64) {
        var (crashes, aborts, hops, twice, cancelled, waiting) = (0, 0, 0, 0, 0, 0)
        var (unanswered, said, superseded) = (0, 0, 0)
        for seed in stride(from: first, to: Self.seeds, by: 6) {
            // A third has a device with most of the records, a third of these a window that is never full.
            let busy = seed / 6 % 3 == 0
            let isWide = seed / 6 % 9 == 0
            var simulation = LaneSimulation(
                seed: seed, rates: .init(busyDevice: busy ? 60 : 0, window: isWide ? LaneOffset.largestWindow : 64))
            simulation.run()
            for problem in simulation.check().prefix(5) { Issue.record("seed \(seed): \(problem)") }
            if isWide, simulation.hops > simulation.failures {
                Issue.record("seed \(seed): \(simulation.hops) retries of \(simulation.failures / 2) failures")
            }
            waiting = max(waiting, simulation.mostWaiting)
            crashes += simulation.crashes
            aborts += simulation.aborts
            hops += simulation.hops
            twice += simulation.sentTwice
            unanswered += simulation.unanswered
            said += simulation.possiblyTwice
            cancelled += simulation.outcomes.count { $0.outcome == .cancelled }
            superseded += simulation.outcomes.count { $0.outcome == .superseded }
        }
        // An upper bound that says something.

        #expect(said <= 10 * twice + unanswered)
        // Otherwise it shows nothing.
        #expect(crashes > 0 && aborts > 0 && hops > 0 && twice > 0 && cancelled > 0)
        #expect(waiting > 30 && superseded > 0)
    }

    @Test("without faults each record is sent once, at once, and nothing is possibly twice")
    func quiet() {
        for seed in 0..<5 as Range<UInt64> {
            var simulation = LaneSimulation(seed: seed, rates: .init(isQuiet: true))
            simulation.run()
            #expect(simulation.check().isEmpty)
            #expect(simulation.possiblyTwice == 0 && simulation.accepted.count == simulation.sources.count)
            #expect(simulation.hops == 0 && simulation.outcomes.allSatisfy { $0.attempts == 1 })
        }
    }
}
