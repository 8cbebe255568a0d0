import KafkaClient
import Streaming
import Synchronization

/// Turns order events into one push for each subscribed device, exactly once.
///
///     let pipeline = NotificationPipeline(configuration: configuration)
///     try await pipeline.run()        // until shutdown() or an error
///
/// `run()` has the shape of ServiceLifecycle's `Service`: cancelling its task stops at once and leaves open transactions
/// to time out; ``shutdown()`` drains and commits. Call `run()` once per pipeline.
public final class NotificationPipeline: Role, Sendable {
    private let configuration: PipelineConfiguration
    private let resolver: (any TokenResolver)?
    private let logger: Logger
    private let context: Mutex<WorkerContext?>
    private let audienceRule: any AudienceRule
    package let name = RoleName.pipeline
    package let host: RoleHost
    /// Counts and measurements, up to now.
    public let meter: PipelineMeter

    /// - Parameters:
    ///   - resolver: finds the devices of audiences; nil: the pipeline keeps a table of notifications.subscriptions.
    ///   - audienceRule: decides who a notification is for.
    ///   - logger: with the host's own sink, for example a bridge to swift-log.
    ///   - metrics: the host's registry.
    public convenience init(
        configuration: PipelineConfiguration, resolver: (any TokenResolver)? = nil,
        audienceRule: any AudienceRule = OrderAudiences(), logger: Logger = Logger(label: "carillon"),
        metrics: Metrics = Metrics()
    ) {
        self.init(
            configuration: configuration, resolver: resolver, audienceRule: audienceRule, logger: logger,
            metrics: metrics, clock: PipelineClock())
    }

    /// - Parameter clock: the process's.
    package init(
        configuration: PipelineConfiguration, resolver: (any TokenResolver)? = nil,
        audienceRule: any AudienceRule = OrderAudiences(), logger: Logger, metrics: Metrics, clock: PipelineClock
    ) {
        self.configuration = configuration
        self.resolver = resolver
        self.audienceRule = audienceRule
        self.logger = logger
        self.context = Mutex(nil)
        self.host = RoleHost(clock: clock, explained: Permissions(configuration).explained)
        self.meter = PipelineMeter(metrics: metrics, audiences: configuration.rules.audiences.counted)
        metrics.observeReadiness(of: self)
        metrics.observe(
            "carillon_held_partitions",
            help: "1 for a partition that is not read, since three processes have ended there for lack of memory."
        ) { [weak self] in
            (self?.context.withLock { $0?.holds.held } ?? [:]).keys.sorted().map {
                .init(
                    labels: [.init("topic", $0.topic), .init("partition", "\($0.partition)")], value: .gauge(1))
            }
        }
    }

    /// Whether the pipeline is processing its partitions, and if not, what it waits for. Any thread, at any time; takes a
    /// few locks and does no I/O.
    public var readiness: Readiness {
        context.withLock { $0?.readiness } ?? Readiness(reasons: [.notRunning])
    }

    package var unready: [String] { readiness.reasons.map(\.description) }

    /// Whether the pipeline can still recover by itself; one that is not running is alive. Any thread, at any time, at the
    /// same cost.
    public var liveness: Liveness { host.health.liveness }

    /// Asks that the table of subscriptions reach the ends that its topic has now.
    ///
    /// - Returns: says whether it has; never where the pipeline is not running.
    package func askForTable() -> @Sendable () -> Bool {
        guard let gate = context.withLock({ $0?.gate }) else { return { false } }
        let barrier = gate.requestBarrier()
        return { gate.isOpen(barrier) }
    }

    /// Drains, commits, and lets ``run()`` return. Any thread, any number of times.
    public func shutdown() { host.drain() }

    /// Runs until ``shutdown()``. After ``PipelineError/notDrained(_:)`` or a hang, threads may still be running; the state
    /// folder stays locked until the last of them has ended.
    ///
    /// - Throws: ``PipelineError`` where an operator has to act; `KafkaError` and `SubscriptionTableError` from the
    ///   start, before the first worker runs; `CancellationError` when its task is cancelled.
    public func run() async throws {
        try await host.run { try self.supervise() }
    }

    /// Locks the state folder, waits for the broker, opens the table, and runs the threads until they have ended.
    private func supervise() throws {
        let context = makeContext()
        defer { context.board.ended() }
        let folder = try StateFolder(path: configuration.stateDirectory)
        context.holds.open(in: folder.path)
        defer { context.holds.close() }
        var probe = BrokerProbe(context: context, logger: logger)
        if let resolver {
            context.gate.passAll()
            try probe.waitForTopics(topics)
            probe.introduce()
            probe.compareOrdersWithMemory()
            try probe.checkEventsRetention()
            probe.checkRecordTimes()
            probe.checkBatches(of: inputs)
            try supervise(context, folder.lock, recipients: .resolver(resolver), table: nil)
        } else {
            try probe.waitForTopics(topics + [configuration.topics.subscriptions])
            probe.introduce()
            probe.compareOrdersWithMemory()
            try probe.checkEventsRetention()
            probe.checkRecordTimes()
            probe.checkBatches(of: inputs + [configuration.topics.subscriptions])
            // Taken before the topic is queried: a table that is read from its beginning is as old as that query.
            let now = context.clock.now()
            let topic = try probe.subscriptionTopic()
            let table = try open(
                folder.table, as: topic, now: now, forgivesUnclean: context.holds.explainsEnd, probe)
            try supervise(context, folder.lock, recipients: .table(table), table: (table, topic))
            try table.close()
        }
    }

    private var inputs: [String] { configuration.topics.sources.map(configuration.topics.topic) }

    private var topics: [String] {
        let names = configuration.topics
        return [names.events, names.dispatch, names.deadLetters, names.journal]
    }

    private func makeContext() -> WorkerContext {
        let context = WorkerContext(
            host: host, configuration: configuration, audienceRule: audienceRule, meter: meter)
        self.context.withLock { $0 = context }
        return context
    }

    private func open(
        _ directory: String, as topic: SubscriptionTopic, now: WallTime, forgivesUnclean: Bool,
        _ probe: borrowing BrokerProbe
    ) throws -> SubscriptionTable {
        do {
            var (table, opening) = try SubscriptionTable.open(
                directory: directory, topic: topic, now: now, forgivesUnclean: forgivesUnclean)
            if let difference = try probe.difference(of: table.position, in: topic) {
                try table.restart(at: topic.startOffsets, time: now)
                opening = .rebuilt(reason: difference)
            }
            switch opening {
            case .created: logger.info("the subscriptions table is new")
            case .resumed(let devices): logger.info("the subscriptions table continues", ["devices": "\(devices)"])
            case .unclosed(let devices):
                logger.info(
                    "the subscriptions table was not closed, but the machine has been up since; it continues",
                    ["devices": "\(devices)"])
            case .rebuilt(let reason): logger.notice("the subscriptions table is rebuilt: \(reason)")
            }
            return table
        } catch let error as SubscriptionTableError {
            switch error.recovery {
            case .giveUp: throw PipelineError.decisionNeeded("\(error)")
            case .wipe, .retry: throw PipelineError.defect("the subscriptions table cannot be opened: \(error)")
            }
        }
    }

    /// Runs the workers and the table's follower, each on a thread of its own, until all have ended.
    private func supervise(
        _ context: WorkerContext, _ lock: FolderLock, recipients: RecipientSource,
        table: (table: SubscriptionTable, topic: SubscriptionTopic)?
    ) throws {
        let crew = Crew(keeping: lock)
        context.board.started()
        for number in 0..<configuration.workers {
            let slot = Slot(instance: configuration.instanceID, number: number)
            var logger = self.logger
            logger.metadata["worker"] = slot.description
            crew.start(
                "worker-\(number)",
                with: { [logger] in
                    try StreamWorker(
                        PipelineTenant.contract(of: slot, context), context.host, context.meter.metrics, logger: logger
                    ) { try PipelineTenant(slot, context, $0, recipients: recipients, logger: logger) }
                })
        }
        if let table {
            crew.start("subscriptions") { [logger] in
                var follower = try TableFollower(
                    table: table.table, topic: table.topic, context: context, logger: logger)
                try follower.run()
            }
        }
        let terms = Supervision.Terms(
            drains: "drains and commits", drainTimeout: configuration.shutdownTimeout,
            notDrained:
                "not drained within \(configuration.shutdownTimeout): nothing is lost, the open transactions time out "
                + "and are done again", longestCall: configuration.longestCall, kafka: configuration.kafka)
        var supervision = Supervision(host, crew, terms, logger)
        try supervision.untilAllHaveEnded(PipelineStatusLine(meter: meter))
    }
}
