import Hosting
import KafkaClient
import Notifications
import Pipeline
import Streaming

/// A provider's lane in a process: one thread with its own consumer, its own transactional producer, and the clients of its
/// credentials.
///
///     read ─► hand in ─► send ─► answers ─► outcomes and retries ─► commit        (one Kafka transaction each 50 ms)
///
/// ``DeliveryCore`` decides; the worker does what it says: to the group's partitions in `LaneWorker+Assignment` and
/// `LaneWorker+Locating`, to records in `LaneWorker+Reading`, to requests in `LaneWorker+Sending`, to transactions in
/// `LaneWorker+Transactions`. It never waits for a provider, and a provider never waits for a commit: requests are on
/// the HTTP clients' threads.
struct LaneWorker: ~Copyable, GroupWorker {
    /// What the group has said, and what is done about it.
    enum Phase {
        case unassigned
        /// The committed offsets are asked for, and what waits in the retry topics is read.
        case locating(Search)
        case reading
        /// The partitions are given back once the last answers are committed.
        case revoking(until: ContinuousClock.Instant)
        /// The partitions are given up, since the process ends.
        case ending
    }

    let provider: Platform
    let context: DeliveryContext
    let logger: Logger
    let signal: QueueSignal
    /// Whether the dispatch topic was empty when the lane started.
    let wasEmpty: Bool
    /// Its own, since it has a group and topics of its own: another lane's work says nothing of what this one may do.
    let patience: Patience
    var consumer: Consumer
    var output: LaneOutput
    var core: DeliveryCore
    var senders: LaneSenders
    var intake: LaneIntake
    var waiting: WaitingReader
    var group: GroupMetadata?
    var phase = Phase.unassigned
    /// How often the group has assigned partitions.
    var assignments = 0
    var backoff = Backoff()
    var fencings = Fencings()
    /// A refusal at the start: librdkafka reports some of them once and retries without another report.
    var refusal: KafkaError?
    var pace: CommitPace
    /// No transaction before this, however urgent: the last one failed.
    var nextTry = ContinuousClock.now
    /// When the next look at the ends, and report to the board are due.
    var nextLook = ContinuousClock.now
    var nextReport = ContinuousClock.now
    private var clock = ClockCheck()
    var hasCommitted = false
    /// What was told last.
    var told: LaneStatus?

    /// Waits for the broker as long as it takes.
    init(_ provider: Platform, _ context: DeliveryContext, logger: Logger) throws {
        let signal = try QueueSignal()
        let senders = try LaneSenders(provider, context, signal: signal, logger: logger)
        let core = DeliveryCore(Self.settings(of: provider, context))
        let patience = Patience()
        let wasEmpty = try Self.waitForTopics(context, patience, logger)
        let output = try context.host.untilItWorks(logger, patience) { () throws(KafkaError) in
            try LaneOutput(context, provider, logger: logger.clientSink)
        }
        let consumer = try Self.makeConsumer(of: provider, context, signal, logger)
        self.wasEmpty = wasEmpty
        self.consumer = consumer
        self.patience = patience
        self.provider = provider
        self.context = context
        self.logger = logger
        self.signal = signal
        self.output = output
        self.core = core
        self.senders = senders
        pace = CommitPace(
            context.configuration.delivery.commitInterval, topics: Set(context.streams.map(\.kind)))
        intake = LaneIntake(context, provider)
        waiting = WaitingReader(context.configuration.kafka, signal: signal, logger: logger.clientSink)
    }

    private static func settings(of provider: Platform, _ context: DeliveryContext) -> LaneSettings {
        let delivery = context.configuration.delivery
        var settings = LaneSettings(
            dispatchTopics: context.dispatchTopics, partitions: 0, credentials: delivery.credentials.map(\.name))
        settings.own = delivery.credentials.indices.filter { delivery.credentials[$0].platform == provider }
        settings.window = delivery.window
        settings.inFlight = delivery.inFlight
        settings.tiers = delivery.retryDelays
        settings.longestTry = delivery.longestTry.wholeMilliseconds
        settings.frozenAfter = context.configuration.sessionTimeout.wholeMilliseconds / 2
        settings.perMinute = delivery.credentials.map { $0.platform.provider.perMinute(delivery) }
        return settings
    }

    /// Works until the sender drains or stops, or until its clock has followed the wall clock.
    ///
    /// - Throws: ``PipelineError`` where a person has to act.
    mutating func run() throws {
        while !context.mustStop {
            do {
                if try round() { return }
            } catch let error as KafkaError {
                try recover(from: error)
            }
        }
    }

    /// One round.
    ///
    /// - Returns: whether the lane has ended.
    private mutating func round() throws -> Bool {
        signal.lower()
        try serveControl()
        let isClockRight = try isClockRight()
        let instant = ContinuousClock.now
        let now = context.clock.now(instant)
        core.tick(now: now)
        if isClockRight { tickCredentials(now) }
        takeAnswers(now)
        try locate()
        if isClockRight {
            try readWaiting(now)
            try read(now)
        }
        try considerErrors(intake.takeErrors() + (refusal.map { [$0] } ?? []))
        if isClockRight {
            try watchConsumer()
            send(now, at: instant)
        }
        try commitIfDue(now)
        try releaseIfDone()
        report()
        if hasEnded() { return true }
        let idle = isIdle && isClockRight ? IdleWait.woken : .milliseconds(20)
        consumer.waitForRecords(in: isClockRight ? wantedQueues : [], timeout: idle)
        return false
    }

    /// Whether nothing waits for its time: what gives the lane something to do wakes it.
    private var isIdle: Bool {
        guard case .reading = phase else { return false }
        return core.isIdle && intake.streams.allSatisfy(\.isIdle)
    }

    /// Whether the clock may say what is over, and sign tokens.
    private mutating func isClockRight() throws(KafkaError) -> Bool {
        if clock.isLookDue(context.host) {
            clock.compare(try output.brokerTime(), context.host, of: label, logger)
        }
        return clock.isRight(context.host)
    }

    /// Whether the process ends, or the lane has to begin again by a clock that was set: what it keeps is full of times.
    private var mustEnd: Bool { context.mustEnd || clock.agreed ?? context.clock.changes != context.clock.changes }

    /// In what is told of the process.
    var label: String { provider.rawValue }

    /// The queues whose records would be read now.
    private var wantedQueues: [Int] {
        guard case .reading = phase else { return [] }
        let kinds = PushKind.allCases.filter { kind in core.owned.contains { core.isReading($0, kind) } }
        return intake.streams.indices.filter {
            intake.streams[$0].isRead && kinds.contains(intake.streams[$0].stream.kind)
        }
    }

    /// Whether the lane has nothing more to do, since the process ends.
    private mutating func hasEnded() -> Bool {
        switch phase {
        case .unassigned where mustEnd, .ending where core.owned.isEmpty: return true
        case .reading where mustEnd, .locating where mustEnd:
            endLane()
            return false
        case .unassigned, .locating, .reading, .revoking, .ending: return false
        }
    }

    private mutating func report() {
        guard .now >= nextReport else { return }
        nextReport = .now + .milliseconds(500)
        // What is committed before the broker has told its time only says where partitions begin.
        if hasCommitted, clock.agreed != nil {
            patience.hasWorked()
            context.patience.hasWorked()
        }
        let status = core.status
        tell(status)
        var lane = DeliveryBoard.Lane(status)
        lane.partitions = core.owned.count
        if case .reading = phase { lane.isReading = true }
        lane.lag = intake.lag
        let now = context.clock.now()
        lane.tokenAges = senders.tokenAges(now: now)
        let read = intake.streams.lazy.filter { $0.stream.tier == nil }.compactMap(\.oldest)
        if let oldest = ([status.oldest].compactMap(\.self) + read).min() {
            lane.headAge = .milliseconds(max(0, now - oldest))
        }
        context.board.set(lane, of: provider)
        context.host.health.consumerIsHopeless(intake.streams.contains { $0.watch.isHopeless }, of: label)
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

    /// Leaves the group and ends the connections.
    consuming func close() {
        context.board.remove(provider)
        senders.close()
        intake.removeAll()
        waiting.removeAll()
        consumer.close()
    }
}

extension DeliveryBoard.Lane {
    init(_ status: LaneStatus) {
        inFlight = status.inFlight
        held = status.held + status.waiting
        possiblyTwice = status.possiblyTwice
        isPaused = status.isPaused
        pausedCredentials = status.pausedCredentials
        unready = status.unready
    }
}
