import Events
import FanOut
import KafkaClient
import Pipeline
import StateStore
import Subscriptions

/// A replay from Kafka: finds out what was done (``prepare(_:)``), then does it again into a sink, once or more often.
///
/// Writes nothing to Kafka. What it has to look up is in a ``Scratch``. One owner, one thread.
package struct ReplaySession: ~Copyable, ReplaySource {
    /// What it is at, for a person who waits.
    package enum Stage: String, Sendable {
        case journal = "journal records"
        case subscriptions = "subscriptions"
        case dispatch = "dispatch records"
        case deadLetters = "dead letters"
        case events
        case compared = "unequal records"
    }

    package typealias Progress = (Stage, Int, Double) -> Void

    let configuration: PipelineConfiguration
    let request: ReplayRequest
    let scratch: Scratch
    let journal: JournalIndex
    let subscriptions: SubscriptionHistory
    let now: Int64
    let progress: Progress
    var log: KafkaLog
    var journalRead: [Int32: Range<Int64>] = [:]
    package internal(set) var input = ReplayInput()

    /// Less than the clocks of a cluster are apart.
    static let skew: Int64 = 60_000
    /// By how much a record of the events may be ahead of the clock (`message.timestamp.after.max.ms`).
    static let mostAhead: Int64 = 3_600_000

    /// - Parameter now: the clock, in milliseconds since 1970.
    package init(
        _ configuration: PipelineConfiguration, _ request: ReplayRequest, scratch: Scratch, now: Int64,
        logger: @escaping ClientLog.Sink, isStopped: @escaping @Sendable () -> Bool = { false },
        progress: @escaping Progress = { _, _, _ in }
    ) throws {
        let journal = JournalIndex(
            store: try scratch.store("journal"),
            selection: JournalSelection(group: configuration.groupID, ungrouped: request.ungrouped))
        let subscriptions = SubscriptionHistory(store: try scratch.store("subscriptions"))
        let log = try KafkaLog(configuration, logger: logger, isStopped: isStopped)
        self.configuration = configuration
        self.request = request
        self.scratch = scratch
        self.now = now
        self.progress = progress
        self.journal = journal
        self.subscriptions = subscriptions
        self.log = log
    }

    /// Reads the journal and the subscriptions, and decides what is done again.
    ///
    /// - Throws: ``ReplayRefusal`` where the subscriptions as of the events are no longer known.
    package mutating func prepare() throws {
        let topics = configuration.topics
        let bounds = try log.bounds(of: topics.events)
        let asked = try request.known ?? asked(in: bounds)
        let selected = committed(asked)
        let isJournalCut = try readJournal()
        input = try ReplayPlanner(journal: journal, isCut: isJournalCut).plan(reach(selected))
        input.selected = selected
        noteUncommitted(asked)
        try findFoldStarts(bounds)
        try readSubscriptions()
        noteOrigins()
    }

    package mutating func run<Sink: ReplaySink & ~Copyable>(
        into sink: consuming Sink, with other: PipelineConfiguration?
    ) throws -> Sink {
        var sink = sink
        let total = max(1, input.offsets)
        var done = 0
        let until = request.to ?? now
        for lane in 0..<input.lanes {
            let spans = input.spans.filter { $0.lane == lane }
            var pass = try Reexecution(
                other ?? configuration, spans: spans, journal: journal,
                history: try subscriptions.makeReader(request.view), filter: request.filter, until: until, sink: sink)
            var ranges: [Int32: Range<Int64>] = [:]
            for span in spans { ranges[span.partition] = span.foldFrom..<max(span.foldFrom, span.end) }
            var batch = EventBatch(topic: configuration.topics.events)
            let before = done
            try log.read(ranges, of: configuration.topics.events) { records, indices in
                batch.removeAll()
                for header in records.headers { batch.headers.append(EventHeader(header)) }
                for index in indices { batch.records.append(EventRecord(records[index])) }
                try pass.take(batch)
                for end in records.endsOfPartition { try pass.reach(end.partition.partition, end.offset.value) }
            } progress: { count, _ in
                done = before + count
                progress(.events, done, min(1, Double(done) / Double(total)))
            }
            sink = try pass.finish()
        }
        return sink
    }

    /// How long an open transaction of the pipeline may take to end.
    var settling: Duration { configuration.transactionTimeout + .seconds(20) }
}
