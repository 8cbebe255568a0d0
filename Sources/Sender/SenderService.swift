import Foundation
import Hosting
import Notifications
import Pipeline
import Synchronization

/// Dispatch records in, requests to FCM and APNs out, and one outcome for each record.
///
///     let service = SenderService(configuration: configuration)
///     try await service.run()        // until shutdown() or an error
///
/// `run()` has the shape of ServiceLifecycle's `Service`: cancelling its task stops at once, and what was in flight is
/// sent again by the next owner; ``shutdown()`` waits for the last answers and commits them. Call `run()` once.
public final class SenderService: Role, Sendable {
    private let configuration: PipelineConfiguration
    private let providers: [Platform]
    private let start: SenderStart?
    private let logger: Logger
    private let context = Mutex<SenderContext?>(nil)
    private let follower: BroadcastFollower
    private let control: ControlFollower
    package let name = RoleName.deliver
    package let host: RoleHost
    /// Counts and measurements, up to now.
    public let meter: SenderMeter

    /// - Parameters:
    ///   - providers: to which this process sends.
    ///   - start: where it begins for a provider that has no committed offsets; nil: that is an error.
    ///   - logger: with the host's own sink.
    ///   - metrics: the host's registry.
    public convenience init(
        configuration: PipelineConfiguration, providers: [Platform] = Platform.allCases, start: SenderStart? = nil,
        logger: Logger = Logger(label: "carillon"), metrics: Metrics = Metrics()
    ) {
        self.init(
            configuration: configuration, providers: providers, start: start, logger: logger, metrics: metrics,
            clock: PipelineClock(),
            follower: BroadcastFollower(configuration, logger: logger, metrics: metrics),
            control: ControlFollower(configuration, logger: logger, metrics: metrics))
    }

    /// - Parameters:
    ///   - clock: the process's.
    ///   - follower: the process's; of no use without `topic.broadcasts`.
    ///   - control: the process's; of no use without `topic.control`.
    package init(
        configuration: PipelineConfiguration, providers: [Platform] = Platform.allCases, start: SenderStart? = nil,
        logger: Logger,
        metrics: Metrics, clock: PipelineClock, follower: BroadcastFollower, control: ControlFollower
    ) {
        self.configuration = configuration
        self.providers = providers
        self.start = start
        self.follower = follower
        self.control = control
        host = RoleHost(clock: clock, explained: Permissions(deliveryOf: configuration).explained)
        self.logger = logger
        meter = SenderMeter(metrics: metrics)
        metrics.observeReadiness(of: self)
    }

    /// Whether this process sends to each of its providers, or has nothing to send, and if not, why.
    public var readiness: SenderReadiness {
        guard let context = context.withLock({ $0 }) else {
            return SenderReadiness(reasons: host.reasons.map(\.description) + ["it is not running"])
        }
        return SenderReadiness(context.board, providers, host)
    }

    package var unready: [String] { readiness.reasons }

    /// Whether it can still recover by itself; one that is not running is alive. Any thread.
    public var liveness: Liveness { host.health.liveness }

    /// Waits for the last answers, commits, and lets ``run()`` return. Any thread, any number of times.
    public func shutdown() { host.drain() }

    /// Runs until ``shutdown()``.
    ///
    /// - Throws: `PipelineError` where an operator has to act; `CancellationError` when its task is cancelled.
    public func run() async throws {
        try await host.run { try self.supervise() }
    }

    /// Why nothing can be sent with these settings; nil if it can.
    package static func missingSetting(of configuration: PipelineConfiguration) -> String? {
        guard configuration.delivery.credentials.isEmpty else { return nil }
        return
            "delivery.credentials is not set: there is nothing to send with; it is @FILE with a JSON list of credentials"
    }

    private func supervise() throws {
        for warning in configuration.delivery.credentials.compactMap(LoadedCredential.warning) {
            logger.warning("\(warning)")
        }
        let context = try makeContext()
        let crew = Crew()
        context.lanesStart(providers.count)
        for provider in providers {
            var logger = self.logger
            logger.metadata["provider"] = provider.rawValue
            crew.start(provider.rawValue) { [logger] in try Self.run(provider, context, logger) }
        }
        if let broadcasts = context.broadcasts {
            crew.start("broadcasts") { [host] in try broadcasts.run(on: host) }
        }
        if let control = context.control {
            crew.start("control") { [host] in try control.run(on: host) }
        }
        if configuration.delivery.reaps {
            if let missing = Reaper.missingSetting(of: configuration) {
                logger.warning("\(missing)")
            } else {
                crew.start("reaper") { [logger, configuration] in Self.reapHourly(configuration, context, logger) }
            }
        }
        let terms = Supervision.Terms(
            drains: "waits for the last answers and commits them",
            drainTimeout: configuration.shutdownTimeout + .seconds(15),
            notDrained: "not drained in time: what was in flight is sent again by the next owner",
            longestCall: configuration.longestCall, kafka: configuration.kafka)
        var supervision = Supervision(host, crew, terms, logger)
        try supervision.untilAllHaveEnded(SenderStatusLine(meter: meter, board: context.board))
    }

    /// Sends to a provider until the process ends. A lane that only a person can mend stops alone: the others go on until
    /// the process ends, or none of them can.
    private static func run(_ provider: Platform, _ context: SenderContext, _ logger: Logger) throws {
        defer { context.laneEnded() }
        do {
            var begun: Int
            repeat {
                begun = context.clock.changes
                try LaneTenant.worker(provider, context, logger: logger).runAndClose()
            } while begun != context.clock.changes && !context.mustEnd
        } catch let error as PipelineError where error.needsAPerson {
            context.board.stop(provider, because: "\(error)")
            while !context.mustEnd {
                if context.hasNoLane { throw error }
                if context.patience.isDue("stopped \(provider.rawValue)", every: .seconds(60)) {
                    logger.error(
                        "nothing is sent to this provider, and the others go on: \(error); restart the process once it is mended"
                    )
                }
                Thread.sleep(forTimeInterval: 0.2)
            }
        }
    }

    /// Several processes may do so.
    private static func reapHourly(
        _ configuration: PipelineConfiguration, _ context: SenderContext, _ logger: Logger
    ) {
        let reaper = Reaper(configuration, logger: logger)
        var next = ContinuousClock.now + .seconds(3_600)
        while !context.mustEnd {
            Thread.sleep(forTimeInterval: 0.2)
            guard .now >= next else { continue }
            next = .now + .seconds(3_600)
            do {
                try reaper.reap(until: { context.mustEnd })
            } catch {
                logger.warning("dead devices: tried again in an hour: \(error)")
            }
        }
    }

    private func makeContext() throws(PipelineError) -> SenderContext {
        if let missing = Self.missingSetting(of: configuration) { throw .decisionNeeded(missing) }
        let context = try SenderContext(host, configuration, follower, control, start: start, meter: meter)
        meter.observe(context.board)
        meter.observe(deadDevicesStay: Reaper.missingSetting(of: configuration) != nil)
        if let control = context.control { meter.observe(control) }
        self.context.withLock { $0 = context }
        return context
    }
}

/// Whether a sender sends, and if not, why.
public struct SenderReadiness: Sendable, Equatable {
    public var reasons: [String]
    public var isReady: Bool { reasons.isEmpty }
}

extension SenderReadiness {
    init(_ board: SenderBoard, _ providers: [Platform], _ host: RoleHost) {
        if host.mustEnd {
            self.init(reasons: ["it waits for the last answers"])
            return
        }
        let states = Dictionary(board.all.map { ($0.provider, $0.lane) }) { $1 }
        var reasons = host.reasons.map(\.description)
        for provider in providers {
            let name = provider.rawValue
            if let reason = board.stopped[provider] {
                reasons.append("nothing is sent to \(name): \(reason)")
                continue
            }
            guard let lane = states[provider], lane.isReading else {
                reasons.append("\(name) has not begun to read")
                continue
            }
            if lane.isPaused { reasons.append("\(name) is paused: the provider fails") }
            for credential in lane.pausedCredentials {
                reasons.append("credential '\(credential)' is paused: \(name) does not accept it")
            }
            for credential in lane.unready { reasons.append("credential '\(credential)' has no token") }
        }
        self.init(reasons: reasons)
    }
}
