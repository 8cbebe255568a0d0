import Hosting
import KafkaClient
import NotificationPayload
import Notifications
import Pipeline
import Streaming

/// A provider's lane in a process: what a ``StreamWorker`` does with dispatch records, beside the clients of its
/// credentials.
///
///     read ─► hand in ─► send ─► answers ─► outcomes and retries ─► commit        (one Kafka transaction each 50 ms)
///
/// ``LaneCore`` decides; the tenant does what it says: where partitions begin in `LaneTenant+Locating`, with records in
/// `LaneTenant+Reading`, with requests in `LaneTenant+Sending`, in transactions in `LaneTenant+Writing`. It never waits for
/// a provider, and a provider never waits for a commit: requests are on the HTTP clients' threads.
struct LaneTenant: ~Copyable, Tenant {
    let provider: Platform
    let context: SenderContext
    let logger: Logger
    let transaction: Transaction
    /// Whether the dispatch topic was empty when the lane started.
    let wasEmpty: Bool
    /// Its own, since it has a group and topics of its own: another lane's work says nothing of what this one may do.
    let ownPatience: Patience
    var core: LaneCore
    var senders: LaneSenders
    var intake: LaneIntake
    var waiting: WaitingReader
    var pace: CommitPace
    /// Up to where retry topics are restored.
    var recalls: [TopicPartition: Int64] = [:]
    var text = ByteWriter()
    /// When the next report to the board is due.
    private var nextReport: ContinuousClock.Instant
    /// What was told last.
    private var told: LaneStatus?
    private var toldHolds: [String: ControlView.Pause] = [:]

    /// The worker of a lane. Waits for the broker as long as it takes.
    static func worker(
        _ provider: Platform, _ context: SenderContext, logger: Logger
    ) throws -> StreamWorker<LaneTenant> {
        let signal = try QueueSignal()
        var held: LaneSenders? = try LaneSenders(provider, context, signal: signal, logger: logger)
        let patience = Patience()
        let wasEmpty = try waitForTopics(context, patience, logger)
        return try StreamWorker(
            contract(of: provider, context, signal), context.host, context.meter.metrics, patience: patience,
            logger: logger
        ) { transaction in
            guard let senders = held.take() else { throw PipelineError.defect("a lane was made twice") }
            return LaneTenant(
                provider, context, senders, transaction, signal: signal, wasEmpty: wasEmpty, patience: patience,
                logger: logger)
        }
    }

    init(
        _ provider: Platform, _ context: SenderContext, _ senders: consuming LaneSenders, _ transaction: Transaction,
        signal: QueueSignal, wasEmpty: Bool, patience: Patience, logger: Logger
    ) {
        self.provider = provider
        self.context = context
        self.logger = logger
        self.transaction = transaction
        self.wasEmpty = wasEmpty
        ownPatience = patience
        core = LaneCore(Self.settings(of: provider, context))
        self.senders = senders
        intake = LaneIntake(context, provider)
        let time = context.host.time
        waiting = WaitingReader(
            context.clients, context.configuration.kafka, time, signal: signal, logger: logger.clientSink)
        nextReport = time.now()
        pace = CommitPace(
            context.configuration.delivery.commitInterval, topics: Set(context.streams.map(\.kind)), now: nextReport)
    }

    static func contract(
        of provider: Platform, _ context: SenderContext, _ signal: QueueSignal
    ) -> Contract {
        let configuration = context.configuration
        var contract = Contract(
            group: SenderConfiguration.group(of: provider, in: configuration.groupID),
            slot: Slot(
                instance: configuration.instanceID, number: context.number(of: provider), onlyWorker: provider.rawValue),
            isStatic: false, inputs: context.readOrder.map { context.topics[$0] }, isCoPartitioned: true,
            signal: signal,
            outputs: [configuration.topics.deliveries] + context.retryTopics, settings: configuration.kafka,
            memberSettings: configuration.consumerSettings(queues: context.topics.count),
            transactionSettings: configuration.transactionSettings,
            transactionTimeout: configuration.transactionTimeout,
            commitInterval: configuration.delivery.commitInterval)
        contract.clients = context.clients
        contract.settledInputs = Set(context.retryTopics)
        contract.keeping = .everything
        return contract
    }

    private static func settings(of provider: Platform, _ context: SenderContext) -> LaneSettings {
        let delivery = context.configuration.delivery
        var settings = LaneSettings(
            dispatchTopics: context.dispatchTopics, partitions: 0, provider: provider,
            credentials: delivery.credentials.map(\.name))
        settings.isControlled = context.control != nil
        settings.own = delivery.credentials.indices.filter { delivery.credentials[$0].platform == provider }
        settings.window = delivery.window
        settings.inFlight = delivery.inFlight
        settings.tiers = delivery.retryDelays
        settings.longestTry = delivery.longestTry.wholeMilliseconds
        settings.tableLag = context.configuration.subscriptionsMaxLag.wholeMilliseconds + 30_000
        settings.frozenAfter = context.configuration.sessionTimeout.wholeMilliseconds / 2
        settings.perMinute = delivery.credentials.map { $0.platform.provider.perMinute(delivery) }
        return settings
    }

    // MARK: Partitions

    /// Nothing while something waits: it was read, and does not count yet.
    func position(_ topicPartition: TopicPartition) -> Int64? {
        guard let stream = intake.streams.first(where: { $0.topic == topicPartition.topic }),
            core.isReading(topicPartition.partition, stream.stream.kind), !stream.isWaiting(topicPartition.partition)
        else { return nil }
        return core.firstUnread(of: stream.stream, topicPartition.partition)
    }

    func unfinished(_ topicPartition: TopicPartition) -> Int64? {
        context.stream(of: topicPartition.topic).flatMap { core.firstUnfinished(of: $0, topicPartition.partition) }
    }

    /// What is in flight is waited for, and committed.
    mutating func letGo(isLast: Bool) -> Duration? {
        intake.removeAll()
        let now = context.clock.now()
        for partition in core.owned { core.revoke(partition, now: now) }
        return .milliseconds(core.settings.lastAnswers) + .seconds(15)
    }

    var hasLetGo: Bool { core.owned.isEmpty }

    mutating func release(_ reason: Release) {
        for partition in core.owned { core.lose(partition) }
        senders.cancel(core.takeCancelled())
        intake.removeAll()
        waiting.removeAll()
        recalls.removeAll()
    }

    /// Ends the connections.
    func close() {
        context.board.remove(provider)
        senders.close()
    }

    // MARK: A round

    mutating func hear(_ now: WallTime, isClockRight: Bool) {
        core.tick(now: now)
        if isClockRight { tickCredentials(now) }
        takeAnswers(now)
    }

    mutating func act(_ time: TransactionTime) throws -> Bool {
        try readWaiting(time.clock)
        for stream in intake.streams { handInWaiting(stream, time.clock) }
        return false
    }

    func wants(_ input: Int) -> Bool { core.reads(intake.streams[input].stream.kind) }

    mutating func asked(_ input: Int, appended: WallTime?) {
        let stream = intake.streams[input].stream
        if stream.tier == nil { pace.found(appended, in: stream.kind, now: context.clock.now()) }
    }

    mutating func tick(_ time: TransactionTime) {
        // The process may have been frozen since the round began.
        core.tick(now: time.clock)
        send(time.clock, at: time.began)
    }

    /// Long where nothing waits for its time: what gives the lane something to do wakes it.
    var patience: Duration {
        core.isIdle && intake.streams.allSatisfy(\.isIdle) ? IdleWait.woken : .milliseconds(20)
    }

    func overtaken(_ error: KafkaError) -> PipelineError? { lost(error) }

    func lost(_ error: KafkaError) -> PipelineError {
        .decisionNeeded(
            "\(provider.rawValue): the log no longer has the next offset: pushes were lost to retention (\(error)); "
                + "removing the group's offsets starts it again")
    }

    mutating func report(_ state: WorkerState, lag: [TopicPartition: Int]?) {
        let instant = context.host.time.now()
        guard instant >= nextReport else { return }
        nextReport = instant + .milliseconds(500)
        let status = core.status
        tell(status)
        var lane = SenderBoard.Lane(status)
        lane.partitions = core.owned.count
        lane.isReading = state == .reading
        lane.lag = lag?.values.reduce(0, +)
        let now = context.clock.now()
        lane.tokenAges = senders.tokenAges(now: now)
        lane.holds = tellHolds(now)
        let read = intake.streams.lazy.filter { $0.stream.tier == nil }.compactMap(\.oldest)
        if let oldest = ([status.oldest].compactMap(\.self) + read).min() {
            lane.headAge = .milliseconds(max(0, now - oldest))
        }
        context.board.set(lane, of: provider)
    }

    /// Tells what operators have paused, and resumed, once.
    ///
    /// - Returns: the names of the credentials that they have paused; an empty one is the whole provider.
    private mutating func tellHolds(_ now: WallTime) -> [String] {
        guard let view = context.control?.view, view.freshSince != nil else { return toldHolds.keys.sorted() }
        let own = view.pauses(at: now).filter { $0.target.platform == provider }
        let holds = Dictionary(uniqueKeysWithValues: own.map { ($0.target.credential ?? "", $0.pause) })
        func what(_ credential: String) -> String {
            credential.isEmpty ? "the provider" : "credential '\(credential)'"
        }
        for (name, pause) in holds.sorted(by: { $0.key < $1.key }) where toldHolds[name]?.entry != pause.entry {
            logger.warning(
                "\(what(name)) is paused: nothing is sent, and its records wait",
                ["by": pause.entry.by, "why": pause.entry.why])
        }
        for name in toldHolds.keys.sorted() where holds[name] == nil {
            logger.notice("\(what(name)) is resumed")
        }
        toldHolds = holds
        return holds.keys.sorted()
    }

    /// Tells a pause, and its end, once.
    private mutating func tell(_ status: LaneStatus) {
        defer { told = status }
        if status.isPaused != told?.isPaused ?? false {
            if status.isPaused {
                logger.warning(
                    "the provider fails: nothing is sent but probes; its records wait in Kafka",
                    ["last": senders.lastFailures])
            } else {
                logger.notice("the provider answers again")
            }
        }
        let before = told?.pausedCredentials ?? []
        for name in status.pausedCredentials where !before.contains(name) {
            logger.error(
                "the provider does not accept credential '\(name)': it waits for a changed file, or for a probe "
                    + "that is accepted", ["last": senders.lastFailures])
        }
        for name in before where !status.pausedCredentials.contains(name) {
            logger.notice("credential '\(name)' is used again")
        }
    }
}

extension SenderBoard.Lane {
    init(_ status: LaneStatus) {
        inFlight = status.inFlight
        held = status.held + status.waiting
        possiblyTwice = status.possiblyTwice
        isPaused = status.isPaused
        pausedCredentials = status.pausedCredentials
        unready = status.unready
    }
}
