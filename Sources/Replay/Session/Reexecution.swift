/// A part of a partition that is replayed in one pass over the log.
package struct ReplaySpan: Equatable, Sendable {
    package var partition: SourcePartition
    /// The selected offsets. Transactions that extend beyond them are replayed whole, but written only within them.
    package var range: Range<Int64>
    /// The lane of the journal; records without a journal belong to the first one.
    package var lane = 0
    /// The first offset to read: as long before the first one to replay as the state there depends on.
    package var foldFrom: Int64
    /// The end of what is replayed.
    package var end: Int64
    /// Records of the range below this offset have no journal entries.
    package var approximateBelow: Int64 = 0
}

/// Replays the transactions of the journal: the same events, table and ticks, through the pipeline's own
/// core, so that the output is what the pipeline wrote.
///
/// Everything before a transaction is folded without output, as by a worker that starts there. Without a journal, each
/// record stands alone, and timers fire as in `carillon render --until`.
/// Partitions are independent: a step is replayed when its own partition's records have been read. One owner; reads no
/// clock. Memory holds the states of orders and requests.
package struct Reexecution<Base: ReplaySink & ~Copyable>: ~Copyable {
    private var core: Flow
    private let history: SubscriptionHistoryReader
    private let journal: JournalIndex
    private let topics: PipelineConfiguration.Topics
    private var sink: SelectedSink<Base>
    private var filter: EventFilter?
    private var runs: [SourcePartition: PartitionRun] = [:]
    private let works: [SourceKind: RecordsAtHand]
    private var kind = Kind.fold
    private var current: PartitionRun?
    /// Table positions beyond every record: more partitions than a topic has.
    private let everything = [Int64](repeating: .max, count: 10_000)
    /// Timers fire up to this time if there is no journal.
    private let until: WallTime
    /// The number of replayed records of the ranges.
    package private(set) var events = 0

    private enum Kind { case fold, execute, approximate }

    package init(
        _ configuration: PipelineConfiguration, spans: [ReplaySpan], journal: JournalIndex,
        history: SubscriptionHistoryReader, filter: FilterRules = FilterRules(), until: WallTime = .distantPast,
        sink: consuming Base
    ) throws {
        let fanOut = FanOut(
            audienceRule: OrderAudiences(), history: history, maxAge: configuration.subscriptionsMaxAge,
            maxDevices: configuration.maxDevicesPerEvent, requestApps: configuration.requests.apps)
        let topics = configuration.topics
        self.journal = journal
        self.topics = topics
        core = Flow(configuration, fanOut: fanOut)
        self.history = history
        self.until = until
        self.filter =
            filter.isEmpty ? nil : EventFilter(filter, configuration)
        self.sink = SelectedSink(base: sink, timers: filter.isEmpty ? nil : TimerFilter(rules: filter))
        works = Dictionary(
            uniqueKeysWithValues: topics.sources.map { ($0, RecordsAtHand($0, topic: topics.topic(of: $0))) })
        for span in spans { try begin(span) }
    }

    private mutating func begin(_ span: ReplaySpan) throws {
        core.assign(span.partition, watermark: TimerWatermark(.epoch), newest: .epoch)
        let run = try PartitionRun(span, journal: journal)
        runs[span.partition] = run
        beginFold(of: run)
    }

    /// What is folded before a step was processed before it.
    private mutating func beginFold(of run: PartitionRun) {
        guard let step = run.step else { return }
        core.beginFold(of: step.partition, latest: RecordTime.latest(at: step.clock))
    }

    /// Takes records in log order, of any partition.
    ///
    /// - Throws: ``ReplayRefusal`` if the log is not the one that the journal was written for.
    package mutating func take(_ records: borrowing EventBatch) throws {
        guard let work = works[records.source] else { return }
        work.batch.removeAll()
        work.batch.headers.append(contentsOf: records.headers)
        for record in records.records { try take(record, in: work) }
        try flush()
    }

    /// No record below the offset remains: completes the steps that end there.
    package mutating func reach(_ partition: SourcePartition, _ offset: Int64) throws {
        try flush()
        guard let run = runs[partition] else { return }
        while let step = run.step, step.to <= offset { try finish(step, of: run) }
    }

    /// Ends the input.
    ///
    /// - Returns: the sink with the complete output.
    package consuming func finish() throws -> Base {
        for (partition, run) in runs.sorted(by: { $0.key < $1.key }) {
            try reach(partition, .max)
            switch partition.source {
            case .requests: continue
            case .orders:
                guard run.hasApproximated else { continue }
                try core.beginTransaction(clock: until, boundsTimes: false)
                try play(run, until: until)
            }
        }
        return sink.base
    }

    private mutating func take(_ record: EventRecord, in work: RecordsAtHand) throws {
        guard let run = runs[work.batch.partition(of: record)], record.offset >= run.position else { return }
        while let step = run.step, record.offset >= step.to {
            try flush()
            try finish(step, of: run)
        }
        run.position = record.offset + 1
        if let step = run.step, step.contradicts(record) { throw ReplayRefusal(contradicting: step, record, topics) }
        guard record.offset < run.span.end else { return }
        let kind = kind(of: record.offset, in: run)
        if kind != self.kind || current !== run {
            try flush()
            self.kind = kind
            current = run
        }
        work.batch.records.append(record)
        switch kind {
        case .fold, .execute: break
        case .approximate: try flush()
        }
    }

    private func kind(of offset: Int64, in run: PartitionRun) -> Kind {
        if let step = run.step, offset >= step.from { return .execute }
        return run.span.range.contains(offset) && offset < run.span.approximateBelow ? .approximate : .fold
    }

    private mutating func flush() throws {
        guard let run = current, let work = works[run.span.partition.source], !work.batch.records.isEmpty else {
            return
        }
        switch kind {
        case .fold: core.refold(&work.batch)
        case .execute:
            if let step = run.step { try execute(step, of: run, work) }
        case .approximate: try approximate(run, work)
        }
        work.batch.records.removeAll(keepingCapacity: true)
    }

    // MARK: As the journal says

    private mutating func execute(_ step: JournalStep, of run: PartitionRun, _ work: RecordsAtHand) throws {
        try enter(step, of: run, areTimers: false)
        var next = 0
        while next < work.batch.records.count {
            let end = core.extract(&work.batch, from: next)
            try emit(work, next..<end, of: run)
            next = end
        }
        core.commit()
    }

    /// Begins a transaction, or continues it: it may come in pieces, between those of other partitions.
    private mutating func enter(_ step: JournalStep, of run: PartitionRun, areTimers: Bool) throws {
        history.positions = step.table ?? everything
        begin(step, of: run, areTimers: areTimers)
        try core.beginTransaction(clock: step.clock, boundsTimes: true)
        guard !run.isBegun else { return }
        core.resume(step.partition, watermark: step.watermarkBefore)
        run.isBegun = true
    }

    private mutating func begin(_ step: JournalStep?, of run: PartitionRun, areTimers: Bool) {
        sink.isMuted = false
        sink.hasTimers = areTimers
        sink.base.begin(step, of: run.span.partition.source, areTimers: areTimers)
    }

    private mutating func emit(_ work: RecordsAtHand, _ records: Range<Int>, of run: PartitionRun) throws {
        let range = run.span.range
        let isWhole =
            range.contains(work.batch.records[records.lowerBound].offset)
            && range.contains(work.batch.records[records.upperBound - 1].offset)
        if isWhole, filter == nil, !sink.base.seesEvents {
            events += records.count
            _ = try core.emit(work.batch, records, limit: .max, into: &sink)
            return
        }
        for index in records { try emit(index, of: work, isInRange: range.contains(work.batch.records[index].offset)) }
        sink.isMuted = false
    }

    private mutating func emit(_ index: Int, of work: RecordsAtHand, isInRange: Bool) throws {
        let record = work.batch.records[index]
        let isSelected = isInRange && (filter?.selects(record, of: work.batch) ?? true)
        sink.isMuted = !isSelected
        if isSelected { sink.base.see(record, in: work.batch) }
        _ = try core.emit(work.batch, index..<index + 1, limit: .max, into: &sink)
        guard isInRange else { return }
        events += 1
        if !isSelected { try sink.base.passOver(record) }
    }

    private mutating func finish(_ step: JournalStep, of run: PartitionRun) throws {
        if step.hasTick, let time = step.until {
            try enter(step, of: run, areTimers: true)
            // Timers at an offset come before the record there.
            sink.isMuted = !(run.span.range.lowerBound < step.to && step.to <= run.span.range.upperBound)
            let tick = Tick(
                partition: run.span.partition.number, time: time, clock: step.clock, offset: step.to)
            _ = try core.fire(tick, .upTo(step.watermarkAfter), into: &sink)
            core.commit()
        }
        try run.advance()
        beginFold(of: run)
    }

    // MARK: Without a journal

    /// One record. A request is judged by its own time, as by a pipeline that is never late.
    private mutating func approximate(_ run: PartitionRun, _ work: RecordsAtHand) throws {
        history.positions = everything
        begin(nil, of: run, areTimers: false)
        try core.beginTransaction(clock: work.batch.records[0].timestamp ?? .epoch, boundsTimes: false)
        switch work.batch.source {
        case .orders: try extractWithTimers(run, work)
        case .requests: _ = core.extract(&work.batch, from: 0)
        }
        try emit(0, of: work, isInRange: true)
        sink.isMuted = false
        core.commit()
        run.reached = work.batch.records[0].offset + 1
    }

    /// Extracts an event after the timers that are due before it.
    private mutating func extractWithTimers(_ run: PartitionRun, _ work: RecordsAtHand) throws {
        let partition = run.span.partition.number
        if !run.hasApproximated {
            // Timers due before the range have fired already, or never will.
            core.orders.resume(partition, watermark: TimerWatermark(core.orders.newest(in: partition)))
            beginFold(of: run)
            run.hasApproximated = true
        }
        let due = core.orders.nextDue(in: partition)
        _ = core.extract(&work.batch, from: 0)
        if due < core.orders.newest(in: partition) {
            let time = core.orders.newest(in: partition) - 1
            core.rollBack()
            try play(run, until: time)
            _ = core.extract(&work.batch, from: 0)
        }
    }

    /// Fires the timers that are due, each at its time.
    private mutating func play(_ run: PartitionRun, until time: WallTime) throws {
        begin(nil, of: run, areTimers: true)
        try core.play(run.span.partition.number, until: time, offset: run.reached, into: &sink)
        begin(nil, of: run, areTimers: false)
    }
}

extension ReplayRefusal {
    /// A record differs from the one that the journal names at its offset.
    fileprivate init(contradicting step: JournalStep, _ record: EventRecord, _ topics: PipelineConfiguration.Topics) {
        self.init(
            "\(topics.topic(of: step.partition.source))/\(record.partition): at offset \(record.offset) stands another record "
                + "than \(topics.journal)/\(step.coordinates.partition)/\(step.coordinates.offset) was written for: the topic was restored from a mirror, or "
                + "deleted and created again, so these entries of the journal mean other events; choose a range without them"
        )
    }
}
