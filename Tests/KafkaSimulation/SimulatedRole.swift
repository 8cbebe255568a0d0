import Hosting
import KafkaClient

/// The processes of a role at a simulated broker, with a worker each, and what goes wrong with them.
///
/// `@unchecked Sendable`: only the thread with the baton touches it.
package final class SimulatedRole: @unchecked Sendable {
    /// `@unchecked Sendable`: only the thread with the baton touches it.
    private final class Running: @unchecked Sendable {
        let slot: Int
        let process: SimulatedProcess
        let host: RoleHost
        /// Another process has had its slot at the same time.
        var isShared = false

        init(_ slot: Int, _ process: SimulatedProcess, _ host: RoleHost) {
            self.slot = slot
            self.process = process
            self.host = host
        }
    }

    private let kafka: SimulatedKafka
    private let isStatic: Bool
    /// Nothing goes wrong any longer, and nothing more comes in.
    package private(set) var isOver = false
    /// No process runs, and none is started.
    package private(set) var isDown = false
    package private(set) var violations: [String] = []
    private let work: @Sendable (_ slot: Int, SimulatedProcess, RoleHost, _ isStatic: Bool) throws -> Void
    /// The newest process of each slot.
    private var running: [Int: Running] = [:]
    /// All that have not ended.
    private var alive: [Running] = []
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
    ///   - outage: how long no process runs, once in between, beside that time.
    ///   - isDone: whether everything that came in is done.
    package func run(
        for time: Duration, isFaulty: Bool = true, outage: Duration = .zero, until isDone: @escaping () -> Bool
    ) {
        if isFaulty { kafka.faults = drawnFaults() }
        for slot in 0..<baton.draw(1...3) { start(slot) }
        if isFaulty, !baton.isOne(of: 10) { disturb() }
        if outage > .zero { baton.after(time / 2) { [self] in stopAll(for: outage) } }
        baton.after(time + outage) { [self] in
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
        faults.slowFetch = rate(100...1_000)
        faults.stop = rate(5_000...50_000)
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
        let started = Running(slot, process, host)
        for other in alive where other.slot == slot && !other.process.isDead {
            other.isShared = true
            started.isShared = true
        }
        running[slot] = started
        alive.append(started)
        baton.start { [self] in
            var failure: (any Error)?
            do {
                try work(slot, process, host, isStatic)
            } catch is PipelineEnded {
            } catch {
                failure = error
            }
            ended(started, failure)
        }
    }

    private func ended(_ process: Running, _ failure: (any Error)?) {
        let slot = process.slot
        if let failure, !process.process.isDead {
            var mayBeTaken = false
            if case .instanceInUse? = failure as? PipelineError { mayBeTaken = process.isShared }
            if !mayBeTaken { violations.append("slot \(slot) ended: \(failure)") }
        }
        process.process.die()
        process.host.stop()
        alive.removeAll { $0 === process }
        if running[slot] === process { running[slot] = nil }
        baton.after(baton.milliseconds(0...10_000)) { [self] in restart(slot) }
    }

    private func restart(_ slot: Int) {
        guard running[slot] == nil, !hasDrained else { return }
        if isDown { baton.after(.seconds(10)) { [self] in restart(slot) } } else { start(slot) }
    }

    // MARK: What goes wrong

    private func stopAll(for time: Duration) {
        isDown = true
        for victim in alive {
            victim.host.stop()
            victim.process.die()
        }
        baton.after(time) { [self] in isDown = false }
    }

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
                baton.after(baton.milliseconds(100...4_000)) { [self] in if !isOver, !isDown { start(slot) } }
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
        for process in alive { process.host.drain() }
        // What does not drain is stopped.
        baton.after(.seconds(100)) { [self] in for process in alive { process.host.stop() } }
    }
}
