/// A replay from Kafka: finds out what the pipeline did (``prepare(_:)``), then replays it into a sink, once or more
/// often.
///
/// Writes nothing to Kafka. Lookup data is stored in a ``Scratch``. One owner, one thread.
package struct ReplaySession: ~Copyable {
    let context: ReplayContext
    let request: ReplayRequest
    let journal: JournalIndex
    let subscriptions: SubscriptionHistory
    var log: KafkaLog
    var journalRead: [Int32: Range<Int64>] = [:]
    package internal(set) var input = ReplayInput()

    /// An upper bound of the clock skew within a cluster.
    static let skew: Int64 = 60_000
    /// How far the timestamp of an event may be ahead of the clock (`message.timestamp.after.max.ms`).
    static let mostAhead: Int64 = 3_600_000

    var configuration: PipelineConfiguration { context.configuration }
    /// Those whose records may be replayed.
    var sources: [SourceKind] {
        configuration.topics.sources.filter { request.sources?.contains($0) ?? true }
    }

    package init(_ context: ReplayContext, _ request: ReplayRequest) throws {
        let journal = try JournalIndex(context.scratch, group: context.configuration.groupID)
        let subscriptions = try SubscriptionHistory(context.scratch)
        let log = try KafkaLog(context)
        self.context = context
        self.request = request
        self.journal = journal
        self.subscriptions = subscriptions
        self.log = log
    }

    /// Reads the journal and the subscriptions, and decides what is replayed.
    ///
    /// - Throws: ``ReplayRefusal`` if the subscriptions as of the events are no longer known.
    package mutating func prepare() throws {
        let bounds = try log.bounds(of: sources)
        let asked = try self.asked(in: bounds)
        let selected = committed(asked)
        let isJournalCut = try readJournal()
        input = try ReplayPlanner(journal: journal, isCut: isJournalCut).plan(reach(selected))
        input.selected = selected
        noteUncommitted(asked)
        for source in sources { try findFoldStarts(of: source, bounds.numbers(of: source)) }
        try readSubscriptions()
        noteOrigins()
    }

    /// Replays everything.
    ///
    /// - Parameter other: rules instead of its own; nil: its own.
    package mutating func run<Sink: ReplaySink & ~Copyable>(
        into sink: consuming Sink, with other: PipelineConfiguration? = nil
    ) throws -> Sink {
        var sink = sink
        let total = max(1, input.offsets)
        var done = 0
        let until = request.to ?? context.now
        for lane in 0..<input.lanes {
            let spans = input.spans.filter { $0.lane == lane }
            var pass = try Reexecution(
                other ?? configuration, spans: spans, journal: journal,
                history: try subscriptions.makeReader(request.view), filter: request.filter, until: until, sink: sink)
            var ranges: [SourcePartition: Range<Int64>] = [:]
            for span in spans { ranges[span.partition] = span.foldFrom..<max(span.foldFrom, span.end) }
            // Partitions are independent, so the topics may be read one after the other.
            for source in SourceKind.allCases {
                let before = done
                try replay(ranges.numbers(of: source), of: source, in: &pass) { count in
                    done = before + count
                    context.progress(.events, done, min(1, Double(done) / Double(total)))
                }
            }
            sink = try pass.finish()
        }
        return sink
    }

    private func replay<Sink: ReplaySink & ~Copyable>(
        _ ranges: [Int32: Range<Int64>], of source: SourceKind, in pass: inout Reexecution<Sink>,
        progress: (Int) -> Void
    ) throws {
        let topic = configuration.topics.topic(of: source)
        var batch = EventBatch(source, topic: topic)
        try log.read(ranges, of: topic) { records, indices in
            batch.removeAll()
            batch.append(contextOf: records)
            for index in indices { batch.records.append(EventRecord(records[index])) }
            try pass.take(batch)
            for end in records.endsOfPartition {
                try pass.reach(SourcePartition(source, end.partition.partition), end.offset.value)
            }
        } progress: { count, _ in
            progress(count)
        }
    }

    /// How long an open transaction of the pipeline may take to end.
    var settling: Duration { configuration.transactionTimeout + .seconds(20) }
}
