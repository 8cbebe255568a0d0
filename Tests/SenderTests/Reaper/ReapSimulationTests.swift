import Foundation
import Testing

@testable import Sender

@Suite("A seeded simulation of reapers: crashes, lost answers, and several at once")
struct ReapSimulationTests {
    /// 30, or as many as `CARILLON_SIMULATION_SEEDS` says.
    private static let seeds =
        ProcessInfo.processInfo.environment["CARILLON_SIMULATION_SEEDS"].flatMap { UInt64($0) } ?? 30

    @Test("the registrar is told the newest evidence about each device, and nothing else")
    func simulate() throws {
        var happened: [String: Int] = [:]
        for seed in 0..<Self.seeds {
            let simulation = ReapSimulation(seed: seed)
            try simulation.run()
            for problem in simulation.problems() { Issue.record("seed \(seed): \(problem)") }
            happened["crashes", default: 0] += simulation.crashes
            happened["lost answers", default: 0] += simulation.lost
            happened["runs beside another", default: 0] += simulation.beside
            happened["told", default: 0] += simulation.told
        }
        // Otherwise it shows nothing.
        for name in ["crashes", "lost answers", "runs beside another", "told"] {
            #expect(happened[name, default: 0] > 0, "\(name): \(happened)")
        }
    }
}
