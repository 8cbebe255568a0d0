import Hosting
import Pipeline
import Streaming
import Synchronization

/// Sends broadcasts to every device in a channel, exactly once, and to devices that join while they are valid.
///
///     let service = BroadcastService(configuration: configuration)
///     try await service.run()        // until shutdown() or an error
///
/// `run()` has the shape of ServiceLifecycle's `Service`: cancelling its task stops at once and leaves open transactions to
/// time out; ``shutdown()`` commits what is open. It may run beside a pipeline in one process. Call `run()` once.
public final class BroadcastService: Role, Sendable {
    private let configuration: PipelineConfiguration
    private let includesValid: Bool
    private let logger: Logger
    private let context = Mutex<BroadcastContext?>(nil)
    private let follower: BroadcastFollower
    package let name = RoleName.broadcasts
    package let host: RoleHost
    /// Counts and measurements, up to now.
    public let meter: BroadcastMeter

    /// - Parameters:
    ///   - configuration: with `topic.broadcasts`.
    ///   - includesValid: whether a first start begins with the oldest broadcast that is still valid; otherwise with the
    ///     next one that is published.
    ///   - logger: with the host's own sink.
    ///   - metrics: the host's registry.
    public convenience init(
        configuration: PipelineConfiguration, includesValid: Bool = false,
        logger: Logger = Logger(label: "carillon"), metrics: Metrics = Metrics()
    ) {
        self.init(
            configuration: configuration, includesValid: includesValid, logger: logger, metrics: metrics,
            clock: PipelineClock(),
            follower: BroadcastFollower(configuration, logger: logger, metrics: metrics))
    }

    /// - Parameters:
    ///   - clock: the process's.
    ///   - follower: the process's.
    package init(
        configuration: PipelineConfiguration, includesValid: Bool = false, logger: Logger, metrics: Metrics,
        clock: PipelineClock, follower: BroadcastFollower
    ) {
        host = RoleHost(clock: clock, explained: Permissions(broadcastsOf: configuration).explained)
        self.configuration = configuration
        self.includesValid = includesValid
        self.logger = logger
        self.follower = follower
        meter = BroadcastMeter(metrics: metrics)
        metrics.observeReadiness(of: self)
    }

    /// Why it does not send broadcasts to its partitions at the moment; empty if it does. Any thread.
    public var unready: [String] {
        let reasons = host.reasons.map(\.description)
        guard let context = context.withLock({ $0 }) else { return reasons + ["it is not running"] }
        if host.mustEnd { return ["it commits what is open, and ends"] }
        return reasons
            + context.board.all.enumerated().flatMap { number, worker in
                (worker.isReading ? [] : ["worker \(number) has not begun to read"])
                    + (worker.isFresh
                        ? [] : ["worker \(number) does not know what is in \(configuration.topics.broadcasts)"])
            }
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

    /// Why these settings have no broadcasts; nil if they have.
    package static func missingSetting(of configuration: PipelineConfiguration) -> String? {
        guard configuration.topics.broadcasts.isEmpty else { return nil }
        return "topic.broadcasts is not set: there is nothing to send; the usual name is notifications.broadcasts"
    }

    private func supervise() throws {
        if let missing = Self.missingSetting(of: configuration) { throw PipelineError.decisionNeeded(missing) }
        let folder = try StateFolder(
            path: BroadcastContext.folder(of: configuration), inside: configuration.stateDirectory)
        let context = try makeContext()
        let crew = Crew(keeping: folder.lock)
        crew.start("broadcasts") { try context.follower.run(on: context.host) }
        crew.start("ends") { [configuration, logger] in
            try context.ends.run(on: context.host, configuration, partitions: context.log.partitions, logger: logger)
        }
        for number in 0..<configuration.workers {
            var logger = self.logger
            logger.metadata["worker"] = "\(number)"
            let slot = Slot(instance: configuration.instanceID, number: number)
            crew.start(
                "worker-\(number)",
                with: { [logger] in
                    try StreamWorker(
                        BroadcastTenant.contract(of: slot, context), context.host, context.meter.metrics, logger: logger
                    ) { BroadcastTenant(slot, context, $0, logger: logger) }
                })
        }
        var supervision = Supervision(host, crew, terms, logger)
        try supervision.untilAllHaveEnded(BroadcastStatusLine(meter: meter))
    }

    var terms: Supervision.Terms {
        Supervision.Terms(
            drains: "commits what is open", drainTimeout: configuration.shutdownTimeout,
            notDrained: "not drained within \(configuration.shutdownTimeout): what was open is sent by the next owner",
            longestCall: configuration.longestCall, kafka: configuration.kafka)
    }

    private func makeContext() throws -> BroadcastContext {
        let log = try BroadcastContext.SubscriptionsLog.ask(host, configuration, logger: logger)
        configuration.warnOfUnboundedBatches(
            in: [configuration.topics.broadcasts, configuration.topics.subscriptions], logger)
        let context = BroadcastContext(
            host, configuration, includesValid: includesValid, log: log,
            follower: follower, ends: SubscriptionEnds(), meter: meter)
        meter.observe(context.board, context.clock)
        self.context.withLock { $0 = context }
        return context
    }
}
