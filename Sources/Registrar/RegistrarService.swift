import Hosting
import Pipeline
import Streaming
import Synchronization

/// Decides commands about devices and people, and writes who is subscribed.
///
///     let service = RegistrarService(configuration: configuration)
///     try await service.run()        // until shutdown() or an error
///
/// `run()` has the shape of ServiceLifecycle's `Service`: cancelling its task stops at once and leaves open transactions to
/// time out; ``shutdown()`` commits what is open. Of the registrars of a group one works, and the others wait for its end.
/// Call `run()` once.
public final class RegistrarService: Role, Sendable {
    private let configuration: PipelineConfiguration
    private let logger: Logger
    private let context = Mutex<RegistrarContext?>(nil)
    package let name = RoleName.registrar
    package let host: RoleHost
    /// Counts, up to now.
    public let meter: RegistrarMeter

    /// - Parameters:
    ///   - configuration: with `topic.commands`.
    ///   - logger: with the host's own sink.
    ///   - metrics: the host's registry.
    public convenience init(
        configuration: PipelineConfiguration, logger: Logger = Logger(label: "carillon"), metrics: Metrics = Metrics()
    ) {
        self.init(configuration: configuration, logger: logger, metrics: metrics, clock: PipelineClock())
    }

    /// - Parameter clock: the process's.
    package init(
        configuration: PipelineConfiguration, logger: Logger, metrics: Metrics, clock: PipelineClock
    ) {
        host = RoleHost(clock: clock, explained: Permissions(registrarOf: configuration).explained)
        self.configuration = configuration
        self.logger = logger
        meter = RegistrarMeter(metrics: metrics)
        metrics.observeReadiness(of: self)
    }

    /// Why it neither decides nor waits for its turn; empty if it does. Any thread.
    public var unready: [String] {
        let reasons = host.reasons.map(\.description)
        guard let context = context.withLock({ $0 }) else { return reasons + ["it is not running"] }
        if host.mustEnd { return ["it commits what is open, and ends"] }
        return reasons + (context.board.now.isReading ? [] : ["the registrar has not begun to read"])
    }

    /// Whether it can still recover by itself; one that is not running is alive. Any thread.
    public var liveness: Liveness { host.health.liveness }

    /// Commits what is open, and lets ``run()`` return. Any thread, any number of times.
    public func shutdown() { host.drain() }

    /// Runs until ``shutdown()``.
    ///
    /// - Throws: ``PipelineError`` where an operator has to act; `CancellationError` when its task is cancelled.
    public func run() async throws {
        try await host.run { try self.supervise() }
    }

    /// Why there is nothing to decide with these settings; nil if there is.
    package static func missingSetting(of configuration: PipelineConfiguration) -> String? {
        guard configuration.topics.commands.isEmpty else { return nil }
        return "topic.commands is not set: there is nothing to decide; the usual name is notifications.commands"
    }

    private func supervise() throws {
        if let missing = Self.missingSetting(of: configuration) { throw PipelineError.decisionNeeded(missing) }
        let folder = try StateFolder(
            path: RegistrarContext.folder(of: configuration), inside: configuration.stateDirectory)
        let context = try makeContext()
        let crew = Crew(keeping: folder.lock)
        crew.start("subscriptions") { [configuration, logger] in
            try context.feed.run(on: context.host, configuration, logger: logger, metrics: context.meter.metrics)
        }
        let slot = Slot(instance: configuration.instanceID, number: 0, onlyWorker: "registrar")
        crew.start(
            "registrar",
            with: { [logger] in
                try StreamWorker(
                    RegistrarTenant.contract(of: slot, context), context.host, context.meter.metrics, logger: logger
                ) { RegistrarTenant(context, $0, logger: logger) }
            })
        var supervision = Supervision(host, crew, terms, logger)
        try supervision.untilAllHaveEnded(RegistrarStatusLine(meter: meter))
    }

    var terms: Supervision.Terms {
        Supervision.Terms(
            drains: "commits what is open", drainTimeout: configuration.shutdownTimeout,
            notDrained:
                "not drained within \(configuration.shutdownTimeout): what was open is decided by the next registrar",
            longestCall: configuration.longestCall, kafka: configuration.kafka)
    }

    private func makeContext() throws -> RegistrarContext {
        let topics = configuration.topics
        let log = try FoldedLog.ask(
            host, configuration, topics.foldedByRegistrar,
            with: [topics.commands, topics.verdicts] + topics.withdrawing, logger: logger)
        configuration.warnOfUnboundedBatches(
            in: [topics.commands, topics.subscriptions], logger)
        if topics.withdrawing.isEmpty {
            logger.notice(
                "topic.control is not set: what is on its way to a phone is still sent after a logout or an erasure")
        }
        let context = RegistrarContext(host, configuration, log: log, meter: meter)
        meter.observe(context.board)
        self.context.withLock { $0 = context }
        return context
    }
}
