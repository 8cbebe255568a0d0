import DispatchRecords
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
    private let journal: JournalIndex
    let subscriptions: SubscriptionHistory
    private let now: Int64
    let progress: Progress
    var log: KafkaLog
    private var journalRead: [Int32: Range<Int64>] = [:]
    package private(set) var input = ReplayInput()

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

    /// What else the transactions were done with than what is there now.
    private mutating func noteOrigins() {
        for (hash, steps) in input.stepsByRules.sorted(by: { $0.key < $1.key }) where hash != configuration.rulesHash {
            input.notes.append(
                "\(steps) transactions were written under other rules (\(hash), these are \(configuration.rulesHash))")
        }
        guard let cluster = log.clusterID() else { return }
        for (id, steps) in input.stepsByCluster.sorted(by: { $0.key < $1.key }) where id != cluster {
            input.notes.append(
                "\(steps) transactions were done in another cluster (\(id), this is \(cluster)): offsets may mean other "
                    + "events here")
        }
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
    private var settling: Duration { configuration.transactionTimeout + .seconds(20) }

    // MARK: What was sent

    /// Reads the dispatch topic, and compares what is done again with it.
    ///
    /// - Throws: ``ReplayRefusal`` where another group has written to it for the same events.
    package mutating func diff(against topic: String) throws -> (report: DiffReport, foreign: Int) {
        try input.checkIsAlone(in: topic)
        let index = try readDispatch(topic)
        let refusals = try readRefusals()
        let unequal = UnequalRecords(store: try scratch.store("unequal"))
        var sink = try run(into: DiffSink(index, unequal: unequal, refusals: refusals))
        var report = try sink.finish(
            input.done, laterTimers: try laterTimers(), hasTimers: request.filter.isEmpty)
        report.redrives = index.redriven
        try compare(unequal, topic, &report)
        return (report, index.foreign)
    }

    /// Tells of each event and timer what became of it, and where its records stand in the dispatch topic.
    package mutating func explain(_ subject: Explanation.Subject) throws -> [Explanation] {
        let topic = configuration.topics.dispatch
        let others = input.groupsSharing(topic)
        if !others.isEmpty {
            input.notes.append(
                "\(others.joined(separator: ", ")) wrote to \(topic) for the same events: the records there may be theirs"
            )
        }
        let index = try readDispatch(topic)
        let refusals = try readRefusals()
        let history = try subscriptions.makeReader(request.view)
        return try run(
            into: ExplainSink(subject, configuration, index: index, refusals: refusals, history: history)
        ).finish()
    }

    /// The records of the dispatch topic that come from the range.
    ///
    /// - Parameter sent: gets all of them, whatever their source.
    mutating func readDispatch(_ topic: String, sent: SentPushes? = nil) throws -> DispatchIndex {
        let index = try DispatchIndex(
            store: try scratch.store("dispatch"), eventsTopic: configuration.topics.events, sent: sent)
        let (bounds, dispatched) = try written(to: topic)
        if bounds.values.contains(where: { $0.lowerBound > 0 }) {
            input.notes.append("\(topic) no longer has its first records; what they were counts as not there")
        }
        let ranges = input.ranges
        var headers: [EventHeader] = []
        try log.read(dispatched, of: topic) { records, indices in
            for at in indices {
                let record = records[at]
                headers.removeAll(keepingCapacity: true)
                for header in records.headers[record.headers] { headers.append(EventHeader(header)) }
                try headers.withUnsafeBufferPointer { headers in
                    try index.append(
                        DispatchRecord(record, headers: headers),
                        at: Coordinates(partition: record.partition, offset: record.offset), within: ranges)
                }
            }
        } progress: {
            progress(.dispatch, $0, $1)
        }
        try index.flush()
        return index
    }

    /// What the broker refused of the range; it is told by the dead letters alone.
    private mutating func readRefusals() throws -> Refusals {
        let topic = configuration.topics.deadLetters
        var refusals = Refusals(eventsTopic: configuration.topics.events)
        try log.read(try written(to: topic).range, of: topic) { records, indices in
            for at in indices {
                let record = records[at]
                refusals.note(
                    key: record.key, headers: records.headers[record.headers].map { EventHeader($0) },
                    at: Coordinates(partition: record.partition, offset: record.offset))
            }
        } progress: {
            progress(.deadLetters, $0, $1)
        }
        return refusals
    }

    /// The bounds of a topic that the pipeline writes to, with everything that has been written to it so far, and the part
    /// of it where what the range of events gave can stand.
    private mutating func written(
        to topic: String
    ) throws -> (bounds: [Int32: Range<Int64>], range: [Int32: Range<Int64>]) {
        let bounds = try log.settledBounds(of: topic, timeout: settling)
        guard let from = request.from else { return (bounds, bounds) }
        var ranges = bounds
        // What an event gives is written after it, by a clock that its record may be ahead of.
        let starts = try log.offsets(of: topic, at: bounds.mapValues { _ in from - Self.mostAhead - Self.skew })
        for (partition, range) in bounds {
            ranges[partition] = min(starts[partition] ?? range.lowerBound, range.upperBound)..<range.upperBound
        }
        return (bounds, ranges)
    }

    package mutating func diff(with other: PipelineConfiguration) throws -> DiffReport {
        try compare(with: other, eventsTopic: configuration.topics.events, scratch: scratch)
    }

    private mutating func compare(_ unequal: UnequalRecords, _ topic: String, _ report: inout DiffReport) throws {
        guard !unequal.ranges.isEmpty else { return }
        try unequal.flush()
        let ranges = unequal.ranges.mapValues { $0.lowerBound..<$0.upperBound + 1 }
        var found = report
        try log.read(ranges, of: topic) { records, indices in
            for at in indices {
                let place = Coordinates(partition: records[at].partition, offset: records[at].offset)
                let record = RenderedRecord(records.record(at: at))
                try unequal.compare(record, at: place, &found)
            }
        } progress: {
            progress(.compared, $0, $1)
        }
        report = found
    }

    /// The offsets at which timers have gone since the journal was read.
    private mutating func laterTimers() throws -> Set<Coordinates> {
        let topic = configuration.topics.journal
        let bounds = try log.settledBounds(of: topic, timeout: settling)
        var ranges: [Int32: Range<Int64>] = [:]
        for (partition, range) in bounds {
            let from = min(journalRead[partition]?.upperBound ?? range.lowerBound, range.upperBound)
            ranges[partition] = max(from, range.lowerBound)..<range.upperBound
        }
        var parser = JournalParser(topic: configuration.topics.events)
        var found: Set<Coordinates> = []
        try log.read(ranges, of: topic, headers: false) { records, indices in
            for at in indices {
                let place = Coordinates(partition: records[at].partition, offset: records[at].offset)
                guard case .steps(let steps) = parser.read(records[at].value, at: place) else { continue }
                for step in steps where step.hasTick && journal.selection.includes(step) {
                    found.insert(Coordinates(partition: step.partition, offset: step.to))
                }
            }
        }
        return found
    }

    // MARK: Preparing

    /// What a group has committed of ranges, where that counts.
    private func committed(_ asked: [Int32: Range<Int64>]) -> [Int32: Range<Int64>] {
        guard let committed = request.committed else { return asked }
        return asked.reduce(into: [:]) { ranges, each in
            let end = max(each.value.lowerBound, committed[each.key] ?? each.value.lowerBound)
            ranges[each.key] = each.value.clamped(to: each.value.lowerBound..<end)
        }
    }

    private mutating func noteUncommitted(_ asked: [Int32: Range<Int64>]) {
        guard let committed = request.committed else { return }
        let group = configuration.groupID
        for (partition, range) in asked.sorted(by: { $0.key < $1.key }) where !range.isEmpty {
            guard let end = committed[partition] else {
                input.notes.append(
                    "partition \(partition): group \(group) has committed nothing, so nothing is selected")
                continue
            }
            if end < range.upperBound {
                input.notes.append(
                    "partition \(partition): group \(group) has not committed the offsets from \(end) on; it sends what "
                        + "they give itself")
            }
        }
    }

    /// What is done again for it.
    private func reach(_ selected: [Int32: Range<Int64>]) -> [Int32: Range<Int64>] {
        guard let committed = request.committed else { return selected }
        return selected.reduce(into: [:]) { ranges, each in
            let (start, end) = (each.value.lowerBound, each.value.upperBound)
            ranges[each.key] = start..<(each.value.isEmpty ? end : max(end, committed[each.key] ?? end))
        }
    }

    private mutating func asked(in bounds: [Int32: Range<Int64>]) throws -> [Int32: Range<Int64>] {
        let topic = configuration.topics.events
        if let missing = request.partitions?.first(where: { bounds[$0] == nil }) {
            throw ReplayRefusal("\(topic) has no partition \(missing), it has \(bounds.count)")
        }
        let chosen = bounds.filter { request.partitions?.contains($0.key) ?? true }
        var ranges = chosen
        if let offsets = request.offsets {
            ranges = chosen.mapValues { $0.clamped(to: offsets) }
        }
        if let from = request.from {
            let starts = try log.offsets(of: topic, at: chosen.mapValues { _ in from })
            for (partition, start) in starts { ranges[partition] = ranges[partition]?.clamped(to: start..<Int64.max) }
        }
        if let to = request.to {
            let ends = try log.offsets(of: topic, at: chosen.mapValues { _ in to })
            for (partition, end) in ends { ranges[partition] = ranges[partition]?.clamped(to: 0..<max(0, end)) }
        }
        return ranges
    }

    /// - Returns: whether the first records of the journal are gone.
    private mutating func readJournal() throws -> Bool {
        guard !request.ignoresJournal else { return true }
        let topic = configuration.topics.journal
        // What is committed is in the journal, but may stand behind the marker of a transaction that is still on its way.
        journalRead =
            try request.committed == nil ? log.bounds(of: topic) : log.settledBounds(of: topic, timeout: settling)
        var parser = JournalParser(topic: configuration.topics.events)
        try log.read(journalRead, of: topic, headers: false) { records, indices in
            for at in indices {
                let place = Coordinates(partition: records[at].partition, offset: records[at].offset)
                try journal.append(parser.read(records[at].value, at: place))
            }
        } progress: {
            progress(.journal, $0, $1)
        }
        try journal.flush()
        return journalRead.values.contains { $0.lowerBound > 0 }
    }

    private mutating func findFoldStarts(_ bounds: [Int32: Range<Int64>]) throws {
        for lane in 0..<input.lanes {
            var firsts: [Int32: Int64] = [:]
            for span in input.spans where span.lane == lane { firsts[span.partition] = span.foldFrom }
            let starts = try log.foldStarts(firsts, bounds: bounds)
            for index in input.spans.indices where input.spans[index].lane == lane {
                guard let start = starts[input.spans[index].partition] else { continue }
                input.spans[index].foldFrom = start.offset
                if !start.isWhole {
                    input.approximations.append(
                        "partition \(input.spans[index].partition): the log no longer has two times state.horizon before "
                            + "the range, so what was known of orders may have been more")
                }
            }
        }
    }

    private mutating func readSubscriptions() throws {
        let topic = configuration.topics.subscriptions
        let bounds = try log.bounds(of: topic)
        let settings = try log.settings(of: topic)
        let isCompacted = settings["cleanup.policy"]?.contains("compact") ?? true
        let lag = settings["min.compaction.lag.ms"].flatMap { Int64($0) }
        let youngFrom = isCompacted ? now - (lag ?? 0) + Self.skew : .min
        var state = SubscriptionLog(bounds: bounds, youngFrom: youngFrom)
        try log.read(bounds, of: topic, headers: false) { records, indices in
            for at in indices {
                let record = records[at]
                state.note(partition: record.partition, offset: record.offset, timestamp: record.timestamp)
                try subscriptions.append(
                    SubscriptionRecord(
                        partition: record.partition, offset: record.offset, key: record.key, value: record.value),
                    at: record.timestamp ?? 0)
            }
        } progress: {
            progress(.subscriptions, $0, $1)
        }
        try subscriptions.flush()
        state.finish(bounds: bounds)
        guard request.view != .now else { return }
        for survey in input.surveys.values where survey.steps > survey.withoutTable {
            if let problem = state.problem(at: survey.oldestTable, topic: topic, lag: lag) {
                throw ReplayRefusal(problem + "; --subscriptions now takes them as they are")
            }
        }
    }
}

extension RenderedRecord {
    init(_ record: ConsumerRecord) {
        self.init(
            key: record.key ?? [], value: record.value ?? [],
            headers: record.headers.map { Header(name: $0.name, value: $0.value) })
    }
}
