import Foundation
import Hosting
import Pipeline
import Synchronization

/// Dispatch records in, requests to FCM and APNs out, and one outcome for each record.
///
///     let service = DeliveryService(configuration: configuration)
///     try await service.run()        // until shutdown() or an error
///
/// `run()` has the shape of ServiceLifecycle's `Service`: cancelling its task stops at once, and what was in flight is
/// sent again by the next owner; ``shutdown()`` waits for the last answers and commits them. Call `run()` once.
public final class DeliveryService: Role, Sendable {
    private let configuration: PipelineConfiguration
    private let lanes: [String]
    private let start: DeliveryStart?
    private let logger: Logger
    private let context = Mutex<DeliveryContext?>(nil)
    private let follower: BroadcastFollower
    package let name = RoleName.deliver
    package let host: RoleHost
    /// Counts and measurements, up to now.
    public let meter: DeliveryMeter

    /// - Parameters:
    ///   - lanes: the lanes of this process; empty: all of `delivery.lanes`.
    ///   - start: where a lane begins that has never committed; nil: that is an error.
    ///   - logger: with the host's own sink.
    ///   - metrics: the host's registry.
    public convenience init(
        configuration: PipelineConfiguration, lanes: [String] = [], start: DeliveryStart? = nil,
        logger: Logger = Logger(label: "carillon"), metrics: Metrics = Metrics()
    ) {
        self.init(
            configuration: configuration, lanes: lanes, start: start, logger: logger, metrics: metrics,
            clock: PipelineClock(),
            follower: BroadcastFollower(configuration, logger: logger, metrics: metrics))
    }

    /// - Parameters:
    ///   - clock: the process's.
    ///   - follower: the process's; of no use without `topic.broadcasts`.
    package init(
        configuration: PipelineConfiguration, lanes: [String] = [], start: DeliveryStart? = nil, logger: Logger,
        metrics: Metrics, clock: PipelineClock, follower: BroadcastFollower
    ) {
        self.configuration = configuration
        self.lanes = lanes.isEmpty ? configuration.delivery.lanes.lanes : lanes
        self.start = start
        self.follower = follower
        host = RoleHost(clock: clock, explained: Permissions(deliveryOf: configuration).explained)
        self.logger = logger
        meter = DeliveryMeter(metrics: metrics)
        metrics.observeReadiness(of: self)
    }

    /// Whether every lane of this process sends or has nothing to send, and if not, why.
    public var readiness: DeliveryReadiness {
        guard let context = context.withLock({ $0 }) else {
            return DeliveryReadiness(reasons: host.health.reasons.map(\.description) + ["it is not running"])
        }
        return DeliveryReadiness(context.board, lanes: lanes, host)
    }

    package var unready: [String] { readiness.reasons }

    /// Whether it can still recover by itself; one that is not running is alive. Any thread.
    public var liveness: Liveness { host.health.liveness }

    /// Waits for the last answers, commits, and lets ``run()`` return. Any thread, any number of times.
    public func shutdown() { host.drain() }

    /// Runs until ``shutdown()``, or until every lane has finished what is below a cut.
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
        context.lanesStart(lanes.count)
        for lane in lanes {
            var logger = self.logger
            logger.metadata["lane"] = lane
            crew.start("lane-\(lane)") { [logger] in try Self.run(lane, context, logger) }
        }
        if let broadcasts = context.broadcasts {
            crew.start("broadcasts") { [host] in try broadcasts.run(on: host) }
        }
        if configuration.delivery.reaps {
            crew.start("reaper") { [logger, configuration] in Self.reapHourly(configuration, context, logger) }
        }
        let terms = Supervision.Terms(
            drains: "waits for the last answers and commits them",
            drainTimeout: configuration.shutdownTimeout + .seconds(15),
            notDrained: "not drained in time: what was in flight is sent again by the next owner",
            longestCall: configuration.longestCall)
        var supervision = Supervision(host, crew, terms, logger)
        try supervision.untilAllHaveEnded(DeliveryStatusLine(meter: meter, board: context.board))
    }

    /// Sends what a lane has until the process ends. A lane that only a person can mend stops alone: the others go on until
    /// the process ends, or none of them can.
    private static func run(_ lane: String, _ context: DeliveryContext, _ logger: Logger) throws {
        defer { context.laneEnded() }
        do {
            var begun: Int
            repeat {
                begun = context.clock.changes
                try LaneWorker(lane, context, logger: logger).runAndClose()
            } while begun != context.clock.changes && !context.mustEnd
        } catch let error as PipelineError where error.needsAPerson {
            context.board.stop(lane, because: "\(error)")
            while !context.mustEnd {
                if context.hasNoLane { throw error }
                if context.patience.isDue("stopped \(lane)", every: .seconds(60)) {
                    logger.error(
                        "the lane has stopped, and the others go on: \(error); restart the process once it is mended")
                }
                Thread.sleep(forTimeInterval: 0.2)
            }
        }
    }

    /// Several processes may do so: the last one that begins continues, and the others end quietly.
    private static func reapHourly(
        _ configuration: PipelineConfiguration, _ context: DeliveryContext, _ logger: Logger
    ) {
        let reaper = Reaper(configuration, logger: logger)
        var next = ContinuousClock.now + .seconds(3_600)
        while !context.mustEnd {
            Thread.sleep(forTimeInterval: 0.2)
            guard .now >= next else { continue }
            next = .now + .seconds(3_600)
            do {
                _ = try reaper.reap(until: { context.mustEnd })
            } catch {
                logger.warning("dead devices: tried again in an hour: \(error)")
            }
        }
    }

    private func makeContext() throws(PipelineError) -> DeliveryContext {
        let known = configuration.delivery.lanes.lanes
        if let unknown = lanes.first(where: { !known.contains($0) }) {
            throw .decisionNeeded(
                "there is no lane '\(unknown)'; delivery.lanes has \(known.joined(separator: ", "))")
        }
        if let missing = Self.missingSetting(of: configuration) { throw .decisionNeeded(missing) }
        let context = try DeliveryContext(host, configuration, follower, start: start, meter: meter)
        meter.observe(context.board)
        self.context.withLock { $0 = context }
        return context
    }
}

/// Whether a sender sends, and if not, why.
public struct DeliveryReadiness: Sendable, Equatable {
    public var reasons: [String]
    public var isReady: Bool { reasons.isEmpty }
}

extension DeliveryReadiness {
    init(_ board: DeliveryBoard, lanes: [String], _ host: RoleHost) {
        if host.mustEnd {
            self.init(reasons: ["it waits for the last answers"])
            return
        }
        let states = Dictionary(board.all.map { ($0.name, $0.lane) }) { $1 }
        var reasons = host.health.reasons.map(\.description)
        for name in lanes {
            if let reason = board.stopped[name] {
                reasons.append("lane \(name) has stopped: \(reason)")
                continue
            }
            guard let lane = states[name], lane.isReading else {
                reasons.append("lane \(name) has not begun to read")
                continue
            }
            if lane.isPaused { reasons.append("lane \(name) is paused: its provider fails") }
            for credential in lane.pausedCredentials {
                reasons.append("lane \(name) is paused: the provider does not accept credential '\(credential)'")
            }
            for credential in lane.unready { reasons.append("credential '\(credential)' has no token") }
        }
        self.init(reasons: reasons)
    }
}
