import Hosting
import KafkaClient

/// The processes of a role at a simulated broker, with a worker each, and what goes wrong with them.
///
/// `@unchecked Sendable`: only the thread with the baton touches it.
package final class SimulatedRole: @unchecked Sendable {
    private struct Running {
        let process: SimulatedProcess
        let host: RoleHost
    }

    private let kafka: SimulatedKafka
    private let isStatic: Bool
    /// Nothing goes wrong any longer, and nothing more comes in.
    package private(set) var isOver = false
    package private(set) var violations: [String] = []
    private let work: @Sendable (_ slot: Int, SimulatedProcess, RoleHost, _ isStatic: Bool) throws -> Void
    /// The newest process of each slot.
    private var running: [Int: Running] = [:]
    private var hosts: [RoleHost] = []
    /// Two processes had this slot at the same time.
    private var shared: Set<Int> = []
    private var hasDrained = false

    private var baton: Baton { kafka.baton }

    /// - Parameter work: what a process does until its host drains or stops.
    package init(
        _ kafka: SimulatedKafka,
        work: @escaping @Sendable (_ slot: Int, SimulatedProcess, RoleHost, _ isStatic: Bool) throws -> Void
    ) {
        self.kafka = kafka
        self.work = work
        isStatic = kafka.baton.isOne(of: 2)
    }

    /// Runs until everything has come to its end.
    ///
    /// - Parameters:
    ///   - time: how long something goes wrong.
    ///   - isDone: whether everything that came in is done.
    package func run(for time: Duration, isFaulty: Bool = true, until isDone: @escaping () -> Bool) {
        if isFaulty { kafka.faults = drawnFaults() }
        for slot in 0..<baton.draw(1...3) { start(slot) }
        if isFaulty, !baton.isOne(of: 10) { disturb() }
        baton.after(time) { [self] in
            isOver = true
            kafka.faults = SimulatedKafka.Faults()
            // The last transactions of what comes in end.
            baton.after(.seconds(4)) { [self] in awaitEnd(until: baton.now + .seconds(600), isDone) }
        }
        baton.run()
    }

    private func drawnFaults() -> SimulatedKafka.Faults {
        var faults = SimulatedKafka.Faults()
        func rate(_ range: ClosedRange<Int>) -> Int { baton.isOne(of: 3) ? baton.draw(range) : 0 }
        faults.lostAnswer = rate(4...30)
        faults.lostRequest = rate(4...30)
        faults.copy = rate(2...20)
        faults.slowMarker = rate(2...20)
        faults.failedProducer = rate(50...300)
        faults.failedConsumer = rate(200...1_000)
        faults.failedSeek = rate(1...4)
        faults.stuckConsumer = rate(500...2_000)
        faults.abortable = rate(4...30)
        return faults
    }

    // MARK: Processes

    private func start(_ slot: Int) {
        let process = SimulatedProcess(kafka)
        let baton = baton
        let host = RoleHost(
            clock: PipelineClock(
                wall: kafka.now, time: TimeSource(now: { baton.instant }, sleep: { process.pause($0) })))
        if running[slot] != nil { shared.insert(slot) }
        running[slot] = Running(process: process, host: host)
        hosts.append(host)
        baton.start { [self] in
            var failure: (any Error)?
            do {
                try work(slot, process, host, isStatic)
            } catch is PipelineEnded {
            } catch {
                failure = error
            }
            ended(slot, process, host, failure)
        }
    }

    private func ended(_ slot: Int, _ process: SimulatedProcess, _ host: RoleHost, _ failure: (any Error)?) {
        if let failure, !process.isDead {
            var mayBeTaken = false
            if case .instanceInUse? = failure as? PipelineError { mayBeTaken = shared.contains(slot) }
            if !mayBeTaken { violations.append("slot \(slot) ended: \(failure)") }
        }
        process.die()
        host.stop()
        if running[slot]?.process === process { running[slot] = nil }
        baton.after(baton.milliseconds(0...10_000)) { [self] in restart(slot) }
    }

    private func restart(_ slot: Int) {
        if running[slot] == nil, !hasDrained { start(slot) }
    }

    // MARK: What goes wrong

    private func disturb() {
        baton.after(baton.milliseconds(200...12_000)) { [self] in
            guard !isOver else { return }
            defer { disturb() }
            guard let slot = running.keys.sorted().randomElement(using: &baton.generator), let victim = running[slot]
            else { return }
            switch baton.draw(0...6) {
            case 0, 1:
                victim.host.stop()
                victim.process.die()
            case 2: victim.process.cut(for: baton.milliseconds(100...40_000))
            case 3: victim.process.freeze(for: baton.milliseconds(100...40_000))
            case 4: victim.host.drain()
            case 5:
                guard isStatic else { return }
                // Somebody takes it for dead.
                victim.process.freeze(for: baton.milliseconds(5_000...40_000))
                baton.after(baton.milliseconds(100...4_000)) { [self] in if !isOver { start(slot) } }
            default: restart(baton.draw(0...3))
            }
        }
    }

    // MARK: The end

    private func awaitEnd(until limit: Duration, _ isDone: @escaping () -> Bool) {
        if running.isEmpty { start(0) }
        guard isDone() || baton.now >= limit else {
            baton.after(.milliseconds(500)) { [self] in awaitEnd(until: limit, isDone) }
            return
        }
        hasDrained = true
        if !isDone() { violations.append(kafka.summary) }
        for host in hosts { host.drain() }
        // What does not drain is stopped.
        baton.after(.seconds(100)) { [self] in for host in hosts { host.stop() } }
    }
}
