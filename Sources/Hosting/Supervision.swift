import KafkaClient
import Telemetry

/// A role's line of status, each 10 s, and the last one.
package protocol StatusLine {
    /// What its meter has counted.
    associatedtype Reading
    var reading: Reading { get }
    /// - Parameter time: from `last` to `now`.
    /// - Returns: nil where there is nothing to tell.
    func line(from last: Reading, to now: Reading, in time: Duration) -> String?
    /// - Parameter time: since the start.
    func total(_ now: Reading, in time: Duration) -> String
}

/// Supervises a role's threads until all have ended: one failure drains the rest, a drain has a deadline, a call that hangs
/// while a broker answers ends the process, a wall clock that was set and stays where it is is followed, and a line of
/// status is logged every 10 s.
package struct Supervision: ~Copyable {
    /// What is the role's own.
    package struct Terms: Sendable {
        /// What is logged when a drain begins.
        package var drains: String
        /// How long a drain may take.
        package var drainTimeout: Duration
        /// What follows where it takes longer.
        package var notDrained: String
        /// A thread that is in one call for longer hangs.
        package var longestCall: Duration
        /// Of the client that asks whether a broker answers.
        package var kafka: Settings

        package init(
            drains: String, drainTimeout: Duration, notDrained: String, longestCall: Duration, kafka: Settings
        ) {
            self.drains = drains
            self.drainTimeout = drainTimeout
            self.notDrained = notDrained
            self.longestCall = longestCall
            self.kafka = kafka
        }
    }

    private let host: RoleHost
    private let crew: Crew
    private let terms: Terms
    private let logger: Logger
    private var drainEnds: ContinuousClock.Instant?
    private var hangs: HangWatch
    /// Asks whether a broker answers, while a call takes long.
    private var asker: Admin?

    package init(_ host: RoleHost, _ crew: Crew, _ terms: Terms, _ logger: Logger) {
        self.host = host
        self.crew = crew
        self.terms = terms
        self.logger = logger
        hangs = HangWatch(limit: terms.longestCall)
    }

    /// - Throws: what ended the first thread; ``PipelineError/notDrained(_:)``, ``PipelineError/defect(_:)``.
    package mutating func untilAllHaveEnded(_ status: some StatusLine) throws {
        let start = ContinuousClock.now
        var lastLine = start
        var last = status.reading
        while !crew.isEmpty {
            crew.wait(seconds: 0.2)
            try look()
            guard .now - lastLine >= .seconds(10) else { continue }
            let reading = status.reading
            if let line = status.line(from: last, to: reading, in: .now - lastLine) {
                logger.info("\(line)")
                host.health.says(line)
            }
            last = reading
            lastLine = .now
        }
        logger.info("\(status.total(status.reading, in: .now - start))")
        if let failure = crew.failure { throw failure }
    }

    /// One look at the threads, the clock and the calls.
    ///
    /// - Parameter wall: the wall clock.
    mutating func look(now: ContinuousClock.Instant = .now, wall: WallTime = PipelineClock.wall) throws {
        host.clock.compare(with: wall, now: now, logger)
        if crew.failure != nil { host.drain() }
        if host.mustEnd, drainEnds == nil {
            logger.info("\(terms.drains)")
            drainEnds = now + terms.drainTimeout
        }
        if let drainEnds, now > drainEnds {
            host.stop()
            throw crew.failure ?? PipelineError.notDrained(terms.notDrained)
        }
        try watchCalls(now)
    }

    private mutating func watchCalls(_ now: ContinuousClock.Instant) throws {
        let calls = host.calls.open
        if hangs.mustAsk(calls, now: now), let name = hangs.hears(try brokerAnswers(), calls, now: now) {
            throw PipelineError.defect("\(name) has hung in a transaction call for more than \(terms.longestCall)")
        }
        if hangs.asked == nil, asker != nil {
            asker = nil
            host.health.brokersAreDown(nil, of: Self.name)
        }
    }

    /// Asks, for at most a second, and tells readiness and the log why no broker answers.
    private mutating func brokerAnswers() throws -> Bool {
        do throws(KafkaError) {
            if asker == nil { asker = try Admin(settings: terms.kafka, logger: logger.clientSink) }
            _ = try asker?.cluster(timeout: .seconds(1))
            host.health.brokersAreDown(nil, of: Self.name)
            return true
        } catch {
            host.health.brokersAreDown("\(error)", of: Self.name)
            if let line = try host.consider(error) { logger.warning("\(line); waiting") }
            return false
        }
    }

    private static let name = "the supervision"
}
