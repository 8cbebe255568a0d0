import Foundation
import Pipeline
import Synchronization

/// Sends broadcasts to every device in a channel, exactly once, and to devices that join while they are valid.
///
///     let service = BroadcastService(configuration: configuration)
///     try await service.run()        // until shutdown() or an error
///
/// `run()` has the shape of ServiceLifecycle's `Service`: cancelling its task stops at once and leaves open transactions to
/// time out; ``shutdown()`` commits what is open. It may run beside a pipeline in one process. Call `run()` once.
public final class BroadcastService: Sendable {
    private let configuration: PipelineConfiguration
    private let includesValid: Bool
    private let logger: Logger
    private let context = Mutex<BroadcastContext?>(nil)
    private let isShutDown = Atomic<Bool>(false)
    private let isCancelled = Atomic<Bool>(false)
    /// Counts and measurements, up to now.
    public let meter: BroadcastMeter

    /// - Parameters:
    ///   - configuration: with `topic.broadcasts`.
    ///   - includesValid: whether a first start begins with the oldest broadcast that is still valid; otherwise with the
    ///     next one that is published.
    ///   - logger: with the host's own sink.
    ///   - metrics: the host's registry.
    public init(
        configuration: PipelineConfiguration, includesValid: Bool = false,
        logger: Logger = Logger(label: "carillon"), metrics: Metrics = Metrics()
    ) {
        self.configuration = configuration
        self.includesValid = includesValid
        self.logger = logger
        meter = BroadcastMeter(metrics: metrics)
        metrics.observe(
            "carillon_ready", help: "1 while broadcasts are sent to the partitions of this process, else 0."
        ) {
            [weak self] in
            [.init(value: .gauge(self?.unready.isEmpty == true ? 1 : 0))]
        }
    }

    /// Why it does not send broadcasts to its partitions at the moment; empty if it does. Any thread.
    public var unready: [String] {
        guard let context = context.withLock({ $0 }) else { return ["it is not running"] }
        if context.mustEnd { return ["it commits what is open, and ends"] }
        let workers = context.board.all
        guard !workers.isEmpty else { return ["no worker has begun"] }
        return workers.flatMap { number, worker in
            (worker.isReading ? [] : ["worker \(number) has not begun to read"])
                + (worker.isFresh
                    ? [] : ["worker \(number) does not know what is in \(configuration.topics.broadcasts)"])
        }
    }

    /// Commits what is open, and lets ``run()`` return. Any thread, any number of times.
    public func shutdown() {
        isShutDown.store(true, ordering: .sequentiallyConsistent)
        context.withLock { $0?.isDraining.store(true, ordering: .sequentiallyConsistent) }
    }

    /// Runs until ``shutdown()``.
    ///
    /// - Throws: ``PipelineError`` where an operator has to act; `CancellationError` when its task is cancelled.
    public func run() async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                Thread.start("carillon") { continuation.resume(with: Result { try self.supervise() }) }
            }
            try Task.checkCancellation()
        } onCancel: {
            isCancelled.store(true, ordering: .sequentiallyConsistent)
            context.withLock { $0?.isStopping.store(true, ordering: .sequentiallyConsistent) }
        }
    }

    private func supervise() throws {
        guard !configuration.topics.broadcasts.isEmpty else {
            throw PipelineError.decisionNeeded(
                "topic.broadcasts is not set: there is nothing to send; the usual name is notifications.broadcasts")
        }
        let folder = try StateFolder(
            path: BroadcastContext.folder(of: configuration), inside: configuration.stateDirectory)
        do {
            let context = try makeContext()
            let crew = Crew(keeping: folder.lock)
            crew.start("broadcasts") { try context.follower.run { context.mustEnd } }
            crew.start("ends") { [configuration, logger] in
                try context.ends.run(configuration, partitions: context.log.partitions, logger: logger) {
                    context.mustEnd
                }
            }
            for number in 0..<configuration.workers { start(number, context, crew) }
            try untilAllHaveEnded(crew, context)
        } catch is PipelineEnded {
            return
        }
    }

    private func start(_ number: Int, _ context: BroadcastContext, _ crew: Crew) {
        var logger = self.logger
        logger.metadata["worker"] = "\(number)"
        crew.start("worker-\(number)") { [logger] in
            var worker = try BroadcastWorker(number, context, logger: logger)
            do {
                try worker.run()
            } catch {
                worker.close()
                throw error
            }
            worker.close()
        }
    }

    private func makeContext() throws -> BroadcastContext {
        let mustEnd = {
            self.isShutDown.load(ordering: .acquiring) || self.isCancelled.load(ordering: .acquiring)
        }
        let log = try BroadcastContext.SubscriptionsLog.ask(
            configuration, patience: Patience(), logger: logger, mustEnd: mustEnd)
        configuration.warnOfUnboundedBatches(
            in: [configuration.topics.broadcasts, configuration.topics.subscriptions], logger)
        let context = BroadcastContext(
            configuration, includesValid: includesValid, log: log,
            follower: BroadcastFollower(configuration, logger: logger, metrics: meter.metrics),
            ends: SubscriptionEnds(), meter: meter)
        meter.observe(context.board)
        self.context.withLock { $0 = context }
        if isShutDown.load(ordering: .sequentiallyConsistent) { context.isDraining.store(true, ordering: .releasing) }
        if isCancelled.load(ordering: .sequentiallyConsistent) { context.isStopping.store(true, ordering: .releasing) }
        return context
    }

    /// One failure ends the others.
    private func untilAllHaveEnded(_ crew: Crew, _ context: BroadcastContext) throws {
        var deadline: ContinuousClock.Instant?
        var (last, lastTime) = (meter.reading, ContinuousClock.now)
        while !crew.isEmpty {
            crew.wait(seconds: 0.2)
            if crew.failure != nil { context.isDraining.store(true, ordering: .sequentiallyConsistent) }
            if context.mustEnd, deadline == nil { deadline = .now + .seconds(15) + configuration.shutdownTimeout }
            if let deadline, .now > deadline {
                context.isStopping.store(true, ordering: .sequentiallyConsistent)
                throw crew.failure
                    ?? PipelineError.notDrained("not drained in time: what was open is sent by the next owner")
            }
            guard .now - lastTime >= .seconds(10) else { continue }
            let now = meter.reading
            if now != last { logger.info("\(Self.line(now, since: last, .now - lastTime))") }
            (last, lastTime) = (now, .now)
        }
        let total = meter.reading
        logger.info("ended: \(total.reached) pushes of broadcasts, and \(total.late) to devices that joined later")
        if let failure = crew.failure { throw failure }
    }

    private static func line(_ now: BroadcastMeter.Reading, since last: BroadcastMeter.Reading, _ time: Duration)
        -> String
    {
        let seconds = max(0.001, time / .seconds(1))
        return "\(Int(Double(now.reached - last.reached) / seconds)) pushes/s; "
            + "\(now.passes - last.passes) passes ended; \(now.late - last.late) pushes to devices that joined later"
    }
}
