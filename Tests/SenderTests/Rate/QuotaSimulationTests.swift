import Notifications
import Testing

@testable import Sender

@Suite("A day of quota")
struct QuotaSimulationTests {
    @Test(
        "600,000 a minute in any minute, but for what is saved and handed over; and at least 95 % where there is enough",
        arguments: [(UInt64(1), 4), (2, 9)])
    func day(seed: UInt64, processes: Int) {
        var simulation = QuotaSimulation(seed: seed, processes: processes)
        simulation.run(waves: 8)
        #expect(simulation.excess <= 0, "seed \(seed): \(simulation.excess) beyond the bound")
        #expect(simulation.leastRate >= 0.95, "seed \(seed): \(simulation.leastRate)")
        #expect(simulation.mostThrottled < 0.2, "seed \(seed): \(simulation.mostThrottled)")
        // Otherwise it shows nothing.
        #expect(simulation.most > 590_000 && simulation.moves > 50 && simulation.crashes > 10)
    }
}
