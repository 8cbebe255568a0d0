import Foundation

/// Supervises the threads until all have ended: one failure drains the rest, a drain has a deadline, a worker that hangs
/// ends the process, and a status line is logged every 10 s.
struct Supervision {
    let context: WorkerContext
    let crew: Crew
    let logger: Logger

    /// - Throws: what ended the first thread; ``PipelineError/notDrained(_:)``, ``PipelineError/defect(_:)``.
    func untilAllHaveEnded() throws {
        var drainEnds: ContinuousClock.Instant?
        var status = StatusReport(context.meter.reading)
        var clock = ClockWatch()
        var clockFailure: PipelineError?
        while !crew.isEmpty {
            crew.wait(seconds: 0.2)
            if crew.failure != nil { context.isDraining.store(true, ordering: .sequentiallyConsistent) }
            if context.mustEnd, drainEnds == nil {
                logger.info("drains and commits")
                drainEnds = .now + context.configuration.shutdownTimeout
            }
            if let drainEnds, .now > drainEnds { throw giveUp() }
            try checkForHang()
            if clockFailure == nil, let failure = check(&clock) {
                clockFailure = failure
                context.isDraining.store(true, ordering: .sequentiallyConsistent)
            }
            if status.isDue { logger.info("\(status.next(context.meter.reading))") }
        }
        logger.info("\(status.total(context.meter.reading))")
        if let failure = crew.failure ?? clockFailure { throw failure }
    }

    private func giveUp() -> any Error {
        context.isStopping.store(true, ordering: .sequentiallyConsistent)
        return crew.failure
            ?? PipelineError.notDrained(
                "not drained within \(context.configuration.shutdownTimeout): nothing is lost, the open transactions "
                    + "time out and are done again")
    }

    /// - Returns: why the pipeline ends, to be restarted with the wall clock as it is now.
    private func check(_ watch: inout ClockWatch) -> PipelineError? {
        let finding = watch.look(drift: .milliseconds(WallClock.now - context.clock.now()))
        switch finding {
        case .good:
            context.board.clockIsOff(nil)
            return nil
        case .isOff(let drift):
            context.board.clockIsOff(drift.components.seconds)
            if context.patience.isDue("clock") {
                logger.warning(
                    "the wall clock is off by \(drift.components.seconds) s since the start: not ready; timers continue by "
                        + "the elapsed time")
            }
            return nil
        case .staysOff(let drift):
            return .defect(
                "the wall clock has been off by \(drift.components.seconds) s for 10 minutes: restart to use it")
        }
    }

    private func checkForHang() throws {
        let limit = context.configuration.transactionTimeout * 2 + .seconds(20)
        if let worker = context.watch.hangs(longerThan: limit) {
            throw PipelineError.defect("worker \(worker) has hung in a transaction call for more than \(limit)")
        }
    }
}

/// The line of status: what was committed since the last one, and the totals at the end.
struct StatusReport {
    private var last: PipelineMeter.Reading
    private var lastTime = ContinuousClock.now
    private let start = ContinuousClock.now

    init(_ reading: PipelineMeter.Reading) {
        last = reading
    }

    var isDue: Bool { .now - lastTime >= .seconds(10) }

    mutating func next(_ reading: PipelineMeter.Reading) -> String {
        let seconds = max(0.001, (ContinuousClock.now - lastTime) / .seconds(1))
        defer {
            last = reading
            lastTime = .now
        }
        let events = Double(reading.counts.events - last.counts.events) / seconds
        let dispatches = Double(reading.counts.dispatches - last.counts.dispatches) / seconds
        return
            "\(NumberText.rate(events)) events/s, \(NumberText.rate(dispatches)) dispatches/s, lag \(reading.lag.map(String.init) ?? "unknown"), "
            + "dead letters \(reading.counts.deadLetters), partitions \(reading.partitions)"
    }

    func total(_ reading: PipelineMeter.Reading) -> String {
        "ended: \(reading.counts.events) events, \(reading.counts.dispatches) dispatches, "
            + "dead letters \(reading.counts.deadLetters), in \(Int((ContinuousClock.now - start) / .seconds(1))) s"
    }
}
