import Pipeline

/// What a re-drive is asked for.
package struct RedriveRequest: Sendable {
    package var replay = ReplayRequest()
    /// In milliseconds.
    package var maxAge: Int64 = 3_600_000
    package var includesSent = false
    /// A digest of what decides what is selected, by which a run that goes on knows that it is the same.
    package var digest = ""

    package init() {}
}

/// A re-drive: does past events again, finds out which of their pushes nobody was sent, and sends those.
///
/// Reading comes first and writes nothing; ``send(_:with:pace:clock:progress:)`` is what notifies. One owner, one thread.
package struct RedriveSession: ~Copyable {
    private let request: RedriveRequest
    private let resume: RedriveResume?
    private let rules: RedriveRules
    private let list: RedriveList
    private var session: ReplaySession
    private let id: String
    /// Where ``plan()`` has stopped reading.
    private var ends = RedriveWatch.Ends()
    /// What it has found in the dispatch topic, where that matters.
    private var dispatched: DispatchIndex?

    /// - Parameter resume: what an interrupted run of the same id has left; nil: there was none.
    /// - Throws: ``ReplayRefusal`` where the run that is resumed was asked for something else.
    package init(
        _ context: ReplayContext, _ request: RedriveRequest, id: String, resuming resume: RedriveResume?
    ) throws {
        try resume?.check(request, id: id)
        var replay = request.replay
        let filter = replay.filter
        // What is not selected may still replace what is, so all of it is done again.
        replay.filter = FilterRules()
        var log = try KafkaLog(context)
        // Before anything else is read: what these cover is then in the journal and in the dispatch topic.
        replay.committed = try log.committed(
            of: context.configuration.topics.events, by: context.configuration.groupID)
        if let resume {
            replay.known = resume.ranges
            replay.from = resume.cursor.from
        }
        var rules = RedriveRules()
        rules.filter = filter
        rules.maxAge = request.maxAge
        rules.includesSent = request.includesSent
        rules.now = context.now
        rules.began = resume?.cursor.began ?? context.now
        rules.sentUpTo = resume?.cursor.key ?? []
        let session = try ReplaySession(context, replay)
        let list = try RedriveList(store: try context.scratch.store("list"))
        var kept = request
        kept.replay = replay
        self.request = kept
        self.resume = resume
        self.rules = rules
        self.list = list
        self.session = session
        self.id = id
    }

    /// Finds out what is to be sent. Notifies nobody.
    ///
    /// - Throws: ``ReplayRefusal`` where that cannot be known.
    package mutating func plan() throws -> RedrivePlan {
        try noteEnds()
        try session.prepare()
        var rules = rules
        rules.selected = session.input.selected
        let topic = session.configuration.topics.dispatch
        try session.input.checkRedrive(to: topic, includingSent: rules.includesSent)
        let dispatched = try rules.includesSent ? session.readDispatch(topic) : session.readDispatched()
        self.dispatched = rules.includesSent ? nil : dispatched
        if resume == nil, dispatched.redriven[id] != nil {
            throw ReplayRefusal(
                "\(topic) has records of --id \(id), and the broker has forgotten how far it came: choose another --id")
        }
        let sink = try RedriveSink(
            rules, session.configuration, list: list, latest: try session.context.scratch.store("latest"))
        var plan = try session.run(into: sink, with: nil).finish(
            dispatched: rules.includesSent ? nil : dispatched)
        plan.input = session.input
        // What was done again behind the selection is not what was asked for.
        plan.input.ranges = session.input.selected
        let left = (resume?.cursor.devices ?? plan.devices) - (resume?.cursor.settled ?? 0)
        guard plan.devices <= left else {
            throw ReplayRefusal(
                "\(plan.devices) devices are left to be sent, \(left) were confirmed: who is subscribed has changed; "
                    + "choose another --id")
        }
        return plan
    }

    /// Where the topics end, before any of them is read: what comes behind is looked at again before it is sent.
    private mutating func noteEnds() throws {
        let topics = session.configuration.topics
        ends.dispatch = try session.log.bounds(of: topics.dispatch).mapValues(\.upperBound)
        ends.subscriptions = try session.log.bounds(of: topics.subscriptions).mapValues(\.upperBound)
        ends.eventPartitions = try session.log.bounds(of: topics.events).count
    }

    /// Sends what ``plan()`` has found, and what was confirmed, each once whatever happens, but for what has changed since:
    /// before each slice it looks again.
    ///
    /// - Parameters:
    ///   - devices: that were confirmed, of the whole.
    ///   - clock: in milliseconds since 1970.
    ///   - progress: how many of them were sent and left out.
    package mutating func send(
        _ devices: Int, with producer: inout RedriveProducer, pace: RedrivePace, clock: @escaping () -> Int64,
        progress: (RedriveCursor) -> Void
    ) throws {
        var cursor = resume?.cursor ?? RedriveCursor()
        let selected = session.input.selected.filter { !$0.value.isEmpty }
        if resume == nil {
            cursor.request = request.digest
            cursor.from = request.replay.from
            cursor.began = session.context.now
            cursor.devices = devices
            // Whoever goes on has to know the ranges and the number before anything is sent.
            var positions: [Int32: RedrivePosition] = [:]
            for (partition, range) in selected {
                cursor.range = range
                positions[partition] = RedrivePosition(offset: range.lowerBound, text: cursor.text)
            }
            try producer.send([], reaching: positions)
        }
        var sender = RedriveSender(
            list: list, ranges: selected, cursor: cursor, pace: pace, watch: try makeWatch(selected), clock: clock)
        try sender.send(with: &producer, progress: progress)
    }

    private mutating func makeWatch(_ selected: [Int32: Range<Int64>]) throws -> RedriveWatch {
        let configuration = session.configuration
        var ends = ends
        // The plan has done everything again up to what the group had committed.
        ends.events = selected.keys.reduce(into: [:]) { $0[$1] = session.input.ranges[$1]?.upperBound }
        var table = ends.subscriptions
        if let began = resume?.cursor.began {
            let first = try session.log.offsets(
                of: configuration.topics.subscriptions, at: table.mapValues { _ in began - ReplaySession.skew })
            table.merge(first) { min($0, $1) }
        }
        let news = try RedriveNews(
            rules, configuration, planned: ends.events,
            table: (0..<Int32(table.count)).map { table[$0] ?? 0 }, dispatched: dispatched,
            subscriptions: session.subscriptions, store: try session.context.scratch.store("newer"))
        return try RedriveWatch(news, from: ends, session.context)
    }
}

extension ReplaySession {
    /// What was sent of the range.
    ///
    /// - Throws: ``ReplayRefusal`` where the first records are gone that may have been of it.
    fileprivate mutating func readDispatched() throws -> DispatchIndex {
        let topic = configuration.topics.dispatch
        let cut = try log.bounds(of: topic).filter { $0.value.lowerBound > 0 }
        let events = try log.firstTimestamps(of: configuration.topics.events, in: input.selected).values.min()
        if !cut.isEmpty, let events {
            let left = try log.firstTimestamps(of: topic, in: cut)
            for partition in cut.keys.sorted()
            where left[partition].map({ $0 > events - Self.mostAhead - Self.skew }) ?? true {
                throw ReplayRefusal(
                    "\(topic)/\(partition) no longer has its first records, and those of the range may be among them: "
                        + "what was sent then is not known; choose a later --from, or --include-sent")
            }
        }
        return try readDispatch(topic, sent: try SentPushes(store: try context.scratch.store("sent")))
    }
}
