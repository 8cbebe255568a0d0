import KafkaClient

/// The options of a re-drive.
package struct RedriveRequest: Sendable {
    package var replay = ReplayRequest()
    /// In milliseconds.
    package var maxAge: Int64 = 3_600_000
    package var choice = RedriveChoice.missed
    /// A digest of the options that affect the selection: a resumed run must have the same one.
    package var digest = ""

    package init() {}
}

/// A re-drive: replays past events, finds out which of their pushes were never sent, and sends those.
///
/// Planning only reads; ``send(_:with:pace:clock:progress:)`` is what notifies people. One owner, one thread.
package struct RedriveSession: ~Copyable {
    private let request: RedriveRequest
    private let resume: RedriveResume?
    private let rules: RedriveRules
    private let list: RedriveList
    private var session: ReplaySession
    private let id: String
    /// Where ``plan()`` stopped reading.
    private var ends = RedriveWatch.Ends()
    /// What it found in the dispatch topic, if that matters.
    private var dispatched: DispatchIndex?

    /// - Parameter resume: what an interrupted run of the same id has committed; nil: there was none.
    /// - Throws: ``ReplayRefusal`` if the resumed run was started with other options.
    package init(
        _ context: ReplayContext, _ request: RedriveRequest, id: String, resuming resume: RedriveResume?
    ) throws {
        try resume?.check(request, id: id)
        var replay = request.replay
        let filter = replay.filter
        // Events that are not selected may still replace selected ones, so all are replayed.
        replay.filter = FilterRules()
        var log = try KafkaLog(context)
        // Read first: everything below these ends is then in the journal and in the dispatch topic.
        var committed: [SourcePartition: Int64] = [:]
        let topics = context.configuration.topics
        for source in topics.sources {
            let found = try log.committed(of: topics.topic(of: source), by: context.configuration.groupID)
            committed.merge(found.keyed(by: source)) { $1 }
        }
        replay.committed = committed
        if let resume {
            replay.known = resume.ranges
            replay.from = resume.cursor.from
        }
        var rules = RedriveRules()
        rules.filter = filter
        rules.maxAge = request.maxAge
        rules.choice = request.choice
        rules.now = context.now
        rules.began = resume?.cursor.began ?? context.now
        rules.sentUpTo = resume?.cursor.key ?? []
        let session = try ReplaySession(context, replay)
        let list = try RedriveList(context.scratch)
        var kept = request
        kept.replay = replay
        self.request = kept
        self.resume = resume
        self.rules = rules
        self.list = list
        self.session = session
        self.id = id
    }

    /// Determines what is to be sent. Notifies nobody.
    ///
    /// - Throws: ``ReplayRefusal`` if that cannot be determined.
    package mutating func plan() throws -> RedrivePlan {
        try noteEnds()
        try session.prepare()
        var rules = rules
        rules.selected = session.input.selected
        let topic = session.configuration.topics.dispatch
        let includesSent = rules.choice == .all
        try session.input.checkRedrive(to: topic, includingSent: includesSent)
        let dispatched = try includesSent ? session.readDispatch(topic) : session.readDispatched()
        self.dispatched = includesSent ? nil : dispatched
        let outcomes = try rules.choice == .undelivered ? session.readOutcomes(upTo: rules.began) : nil
        if resume == nil, dispatched.redriven[id] != nil {
            throw ReplayRefusal(
                "\(topic) has records of --id \(id), and the broker has forgotten how far it came: choose another --id")
        }
        let sink = try RedriveSink(
            rules, session.configuration, list: list, session.context.scratch)
        var plan = try session.run(into: sink, with: nil).finish(
            dispatched: self.dispatched, outcomes: outcomes)
        plan.input = session.input
        // Steps after the selection do not count as selected.
        plan.input.ranges = session.input.selected
        let left = (resume?.cursor.devices ?? plan.devices) - (resume?.cursor.settled ?? 0)
        guard plan.devices <= left else {
            throw ReplayRefusal(
                "\(plan.devices) devices are left to be sent, \(left) were confirmed: who is subscribed has changed; "
                    + "choose another --id")
        }
        return plan
    }

    /// The ends of the topics, before any of them is read: later records are checked again before each send.
    private mutating func noteEnds() throws {
        let topics = session.configuration.topics
        ends.dispatch = try session.log.bounds(of: topics.dispatch).mapValues(\.upperBound)
        ends.subscriptions = try session.log.bounds(of: topics.subscriptions).mapValues(\.upperBound)
        ends.eventPartitions = try session.log.bounds(of: topics.events).count
    }

    /// Sends what ``plan()`` found and a person confirmed, each push exactly once. Before each slice it checks what has
    /// changed since the plan.
    ///
    /// - Parameters:
    ///   - devices: the confirmed number, of all runs of this id.
    ///   - progress: how many were sent and left out so far.
    package mutating func send(
        _ devices: Int, with producer: inout RedriveProducer, pace: Pace, clock: @escaping () -> WallTime,
        progress: (RedriveCursor) -> Void
    ) throws {
        var cursor = resume?.cursor ?? RedriveCursor()
        let selected = session.input.selected.filter { !$0.value.isEmpty }
        if resume == nil {
            cursor.request = request.digest
            cursor.from = request.replay.from
            cursor.began = session.context.now
            cursor.devices = devices
            // A resumed run needs the ranges and the number, so they are committed before anything is sent.
            var positions: [TopicPartition: RedrivePosition] = [:]
            let topics = session.configuration.topics
            for (partition, range) in selected {
                cursor.range = range
                positions[topics.topicPartition(of: partition)] = RedrivePosition(
                    offset: range.lowerBound, text: cursor.text)
            }
            try producer.send([], reaching: positions)
        }
        var sender = RedriveSender(
            list: list, ranges: selected, topics: session.configuration.topics, cursor: cursor, pace: pace,
            watch: try makeWatch(selected), clock: clock)
        try sender.send(with: &producer, progress: progress)
    }

    private mutating func makeWatch(_ selected: [SourcePartition: Range<Int64>]) throws -> RedriveWatch {
        let configuration = session.configuration
        var ends = ends
        // The plan replayed everything up to the group's committed offsets.
        let planned = selected.keys.reduce(into: [:]) { $0[$1] = session.input.ranges[$1]?.upperBound }
        // A later request replaces nothing before it is sent, so only events are followed.
        ends.events = planned.numbers(of: .orders)
        var table = ends.subscriptions
        if let began = resume?.cursor.began {
            let first = try session.log.offsets(
                of: configuration.topics.subscriptions, at: table.mapValues { _ in began - ReplaySession.skew })
            table.merge(first) { min($0, $1) }
        }
        let news = try RedriveNews(
            rules, configuration, planned: planned,
            table: (0..<Int32(table.count)).map { table[$0] ?? 0 }, dispatched: dispatched,
            // What the plan knew of is what it sends again.
            newFrom: rules.choice == .undelivered ? ends.dispatch : [:],
            subscriptions: session.subscriptions, scratch: session.context.scratch)
        return try RedriveWatch(news, from: ends, session.context)
    }
}

extension ReplaySession {
    /// What became of the pushes of the range at their providers.
    ///
    /// - Parameter time: outcomes after it do not count, so that a resumed re-drive has the same pushes.
    fileprivate mutating func readOutcomes(upTo time: WallTime) throws -> DeliveredPushes {
        let topic = configuration.topics.deliveries
        let outcomes = try DeliveredPushes(topic: configuration.topics.dispatch, context.scratch)
        try log.readDeliveries(try written(to: topic).range, of: topic) { outcome, record in
            if record.timestamp ?? .epoch <= time { try outcomes.append(outcome) }
        } progress: {
            context.progress(.outcomes, $0, $1)
        }
        return outcomes
    }

    /// The pushes of the range that were already sent.
    ///
    /// - Throws: ``ReplayRefusal`` if first records that may belong to the range have expired.
    fileprivate mutating func readDispatched() throws -> DispatchIndex {
        let topic = configuration.topics.dispatch
        let cut = try log.bounds(of: topic).filter { $0.value.lowerBound > 0 }
        let times = try sources.flatMap { source in
            try log.firstTimestamps(of: configuration.topics.topic(of: source), in: input.selected.numbers(of: source))
                .values
        }
        let events = times.min()
        if !cut.isEmpty, let events {
            let left = try log.firstTimestamps(of: topic, in: cut)
            for partition in cut.keys.sorted()
            where left[partition].map({ $0 > events - Self.mostAhead - Self.skew }) ?? true {
                throw ReplayRefusal(
                    "\(topic)/\(partition) no longer has its first records, and those of the range may be among them: "
                        + "what was sent then is not known; choose a later --from, or --include-sent")
            }
        }
        return try readDispatch(topic, sent: try SentPushes(context.scratch))
    }
}
