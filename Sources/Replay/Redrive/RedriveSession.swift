import KafkaClient

/// The options of a re-drive.
package struct RedriveRequest: Sendable {
    package var replay = ReplayRequest()
    /// In milliseconds.
    package var maxAge: Int64 = 3_600_000
    package var choice = RedriveChoice.missed
    /// The id of the run, and whether it is new, so that nothing was sent under it.
    package var id = ""
    package var isNewID = true

    package init() {}
}

/// A re-drive: replays past events, finds out which of their pushes were never sent, and sends those. Before each slice
/// it reads what came after the plan: events, pushes, and changes of subscriptions.
///
/// Cost of a look: a few requests to the broker, and the records since the last look; the first one also reads those
/// that the pipeline had not committed when the plan was made. One owner, one thread.
package struct RedriveSession: ~Copyable, ResendSession {
    private let request: RedriveRequest
    private let rules: RedriveRules
    private let list: RedriveList
    private var session: ReplaySession
    /// By partition of each topic, where the plan stopped reading; and the number of its partitions.
    private var ends: [TopicPartition: Offset] = [:]
    private var partitionCounts: [String: Int] = [:]
    private var news: RedriveNews?
    private var follower: LogFollower?
    /// The last push that is settled, by its position in the list.
    private var last: [UInt8] = []

    package init(_ context: ReplayContext, _ request: RedriveRequest) throws {
        var request = request
        var rules = RedriveRules()
        rules.filter = request.replay.filter
        rules.maxAge = request.maxAge
        rules.choice = request.choice
        rules.now = context.now
        // Events that are not selected may still replace selected ones, so all are replayed.
        request.replay.filter = FilterRules()
        var log = try KafkaLog(context)
        // Read first: everything below these ends is then in the journal and in the dispatch topic.
        var committed: [SourcePartition: Int64] = [:]
        let topics = context.configuration.topics
        for source in topics.sources {
            let found = try log.committed(of: topics.topic(of: source), by: context.configuration.groupID)
            committed.merge(found.keyed(by: source)) { $1 }
        }
        request.replay.committed = committed
        let session = try ReplaySession(context, request.replay)
        let list = try RedriveList(context.scratch)
        self.request = request
        self.rules = rules
        self.list = list
        self.session = session
    }

    private var topics: PipelineConfiguration.Topics { session.configuration.topics }

    // MARK: Finding out

    /// - Throws: ``ReplayRefusal`` if it cannot be determined what is to be sent.
    package mutating func plan() throws -> RedrivePlan {
        let topics = topics
        // Before any of it is read: later records are looked at before each slice.
        let (dispatchEnds, tableEnds) = try (noteEnds(of: topics.dispatch), noteEnds(of: topics.subscriptions))
        if !topics.commands.isEmpty { _ = try noteEnds(of: topics.erasures) }
        partitionCounts[topics.events] = try session.log.bounds(of: topics.events).count
        try session.prepare()
        var rules = rules
        rules.selected = session.input.selected
        try session.input.checkRedrive(to: topics.dispatch, includingSent: rules.choice == .all)
        let dispatched = try session.readDispatched(request)
        let outcomes = try rules.choice == .undelivered ? session.readOutcomes() : nil
        let sink = try RedriveSink(
            rules, session.configuration, list: list, session.context.scratch, erased: try session.suppressionList())
        var plan = try session.run(into: sink, with: nil).finish(
            dispatched: dispatched, by: request.id, outcomes: outcomes)
        plan.input = session.input
        // Steps after the selection do not count as selected.
        plan.input.ranges = session.input.selected
        // The plan replayed everything up to the group's committed offsets.
        var planned: [SourcePartition: Int64] = [:]
        for (partition, range) in session.input.selected where !range.isEmpty {
            planned[partition] = session.input.ranges[partition]?.upperBound
        }
        news = try RedriveNews(
            rules, session.configuration, planned: planned,
            table: (0..<Int32(tableEnds.count)).map { tableEnds[$0] ?? 0 }, dispatched: dispatched,
            // What the plan knew of is what it sends again.
            newFrom: rules.choice == .undelivered ? dispatchEnds : [:],
            subscriptions: session.subscriptions, scratch: session.context.scratch)
        // A later request replaces nothing before it is sent, so only events are followed.
        for (partition, offset) in planned.numbers(of: .orders) {
            ends[TopicPartition(topic: topics.events, partition: partition)] = Offset(offset)
        }
        return plan
    }

    private mutating func noteEnds(of topic: String) throws -> [Int32: Int64] {
        let found = try session.log.bounds(of: topic).mapValues(\.upperBound)
        for (partition, end) in found { ends[TopicPartition(topic: topic, partition: partition)] = Offset(end) }
        partitionCounts[topic] = found.count
        return found
    }

    // MARK: Sending

    package func next(limit: Int) throws -> [RedriveList.Entry] { try list.next(after: last, limit: limit) }

    package mutating func settle(_ items: ArraySlice<RedriveList.Entry>) { last = items.last?.key ?? last }

    /// - Throws: what ``LogFollower/advance(tell:take:)`` throws.
    package mutating func look(tell: ResendProducer.Tell) throws {
        guard let news else { return }
        let (topics, partitions) = (topics, partitionCounts[topics.subscriptions] ?? 0)
        if follower == nil {
            follower = try LogFollower(ends, partitionCounts: partitionCounts, session.context)
        }
        var batch = EventBatch(.orders, topic: topics.events)
        var pushes = DispatchTopic()
        try follower?.advance(tell: tell) { records in
            batch.removeAll()
            batch.append(contextOf: records)
            for index in 0..<records.count {
                let record = records[index]
                if record.topic == topics.events {
                    try news.note(EventRecord(record), of: batch)
                } else if record.topic == topics.subscriptions {
                    try news.note(
                        SubscriptionRecord(of: records, at: index, partitions: partitions),
                        at: record.timestamp ?? .epoch)
                } else if record.topic == topics.erasures {
                    news.noteErasure(key: record.key.map { Array($0) }, value: record.value.map { Array($0) })
                } else {
                    try pushes.withRecord(of: records, at: index) { try news.note($0, at: $1) }
                }
            }
        }
    }

    package func verdict(on push: RedriveList.Entry, now: WallTime) throws -> ResendVerdict<RedriveOmission> {
        try news?.verdict(on: push, by: request.id, now: now) ?? .send
    }

    package func record(of push: RedriveList.Entry) -> ResendRecord {
        let record = push.record
        return (topics.dispatch, ProducerRecord(key: record.key, value: record.value, headers: record.headers))
    }
}

extension ReplaySession {
    /// What became of the pushes of the range at their providers.
    fileprivate mutating func readOutcomes() throws -> DeliveredPushes {
        let topic = configuration.topics.deliveries
        let outcomes = try DeliveredPushes(topic: configuration.topics.dispatch, context.scratch)
        try log.readDeliveries(try written(to: topic).range, of: topic) { outcome, _ in
            try outcomes.append(outcome)
        } progress: {
            context.progress(.outcomes, $0, $1)
        }
        return outcomes
    }

    /// The pushes of the range that were already sent.
    ///
    /// - Throws: ``ReplayRefusal`` if first records that may belong to the range have expired.
    fileprivate mutating func readDispatched(_ request: RedriveRequest) throws -> DispatchIndex {
        let topic = configuration.topics.dispatch
        let advice: String
        switch request.choice {
        case .missed, .undelivered: advice = "--include-sent"
        // Nothing can have been sent under the id.
        case .all where request.isNewID: return try readDispatch(topic)
        case .all: advice = "another --id, which sends all of them again"
        }
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
                        + "what was sent then is not known; choose a later --from, or \(advice)")
            }
        }
        return try readDispatch(topic, sent: try SentPushes(context.scratch))
    }
}
