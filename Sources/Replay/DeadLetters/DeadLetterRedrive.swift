import KafkaClient

/// Puts dead letters back into the topic of events or of requests, where the running pipeline processes them like any
/// other record.
/// ``plan()`` selects them; ``send(_:with:pace:clock:progress:)`` writes them exactly once, across crashes and
/// concurrent starts.
///
/// One owner, one thread. Memory grows by some hundred bytes for each dead letter that could be put back; their
/// bytes are in a ``Scratch``.
package struct DeadLetterRedrive: ~Copyable {
    /// The most candidates that are kept in memory.
    private static let mostCandidates = 1_000_000

    private let context: ReplayContext
    private var request: DeadLetterRequest
    private let id: String?
    private let store: DeadLetterStore
    private var log: KafkaLog
    /// By partition of the dead letters; of a resumed run.
    private var cursors: [Int32: DeadLetterCursor] = [:]
    private var ranges: [Int32: Range<Int64>] = [:]
    /// The events and requests still to be put back, in the order of their dead letters.
    private var left: [DeadLetterCandidate] = []
    /// What the plan found in their topics: the index, the end offset of each partition, and the number of partitions.
    private var index: PutBackIndex?
    private var ends: [SourcePartition: Int64] = [:]
    private var partitionCounts: [SourceKind: Int] = [:]

    /// - Parameter id: of the run; nil: nothing will be sent.
    package init(_ context: ReplayContext, _ request: DeadLetterRequest, id: String?) throws {
        let store = try DeadLetterStore(context.scratch)
        let log = try KafkaLog(context)
        self.context = context
        self.request = request
        self.id = id
        self.store = store
        self.log = log
    }

    private var configuration: PipelineConfiguration { context.configuration }

    /// Resumes at the positions committed under the id.
    ///
    /// - Parameter positions: the result of ``RedriveProducer/takeOver()``.
    /// - Returns: how many events were confirmed, what became of them, and whether the run is complete; nil for a new
    ///   id.
    /// - Throws: ``ReplayRefusal`` if the run was started with other options.
    package mutating func resume(
        _ positions: [TopicPartition: RedrivePosition]
    ) throws(ReplayRefusal) -> (confirmed: Int, tally: DeadLetterTally, isDone: Bool)? {
        let id = id ?? ""
        for (partition, position) in positions {
            let cursor = try DeadLetterCursor(position, id: id)
            guard cursor.digest == request.digest else {
                throw ReplayRefusal(
                    "--id \(id) was started with other options or rules: resume it with the same ones, or choose another --id"
                )
            }
            cursors[partition.partition] = cursor
            request.oldest = cursor.oldest
        }
        guard let first = cursors.values.first else { return nil }
        let tally = cursors.values.map(\.tally).reduce(DeadLetterTally(), +)
        return (first.confirmed, tally, cursors.values.allSatisfy(\.isDone))
    }

    // MARK: Finding out

    /// Reads the dead letters, and the events and requests after theirs.
    ///
    /// - Throws: ``UnfitRepairs``, and ``ReplayRefusal`` if there are too many dead letters.
    package mutating func plan() throws -> DeadLetterPlan {
        var plan = DeadLetterPlan()
        ranges = try findRanges()
        let (candidates, dead) = try readDeadLetters(&plan)
        let index = PutBackIndex(candidates, dead: dead, configuration.topics, id: id)
        var partitions: [SourceKind: KeyPartitions] = [:]
        for source in configuration.topics.sources {
            let candidates = candidates.filter { $0.source == source }
            if !candidates.isEmpty { partitions[source] = try read(source, behind: candidates, into: index) }
        }
        for var candidate in candidates {
            let topic = configuration.topics.topic(of: candidate.source)
            let home = partitions[candidate.source]?.home(
                of: candidate.key, stood: candidate.event.partition.number, at: candidate.timestamp)
            if index.isDone(candidate) {
                plan.select(candidate, of: topic, in: configuration.topics.deadLetters)
                plan.done += 1
            } else if index.isPutBack(candidate) {
                plan.leave(.putBack)
            } else if index.isLate(candidate) && !request.includesLate {
                plan.leave(.late)
            } else if isPassed(candidate) {
                plan.leave(.passed)
            } else if let home {
                candidate.home = home
                plan.select(candidate, of: topic, in: configuration.topics.deadLetters)
                left.append(candidate)
            } else {
                plan.leave(.moved)
            }
        }
        self.index = index
        left.sort { ($0.place.partition, $0.place.offset) < ($1.place.partition, $1.place.offset) }
        return plan
    }

    /// This run skipped it before it was interrupted.
    private func isPassed(_ candidate: DeadLetterCandidate) -> Bool {
        cursors[candidate.place.partition].map { candidate.place.offset < $0.next } ?? false
    }

    private mutating func findRanges() throws -> [Int32: Range<Int64>] {
        let topic = configuration.topics.deadLetters
        let bounds = try log.bounds(of: topic)
        if !cursors.isEmpty {
            // A dead letter that has expired from the topic meanwhile cannot be put back.
            return cursors.reduce(into: [:]) { $0[$1.key] = $1.value.range.clamped(to: bounds[$1.key] ?? 0..<0) }
        }
        if let missing = request.partitions?.first(where: { bounds[$0] == nil }) {
            throw ReplayRefusal("\(topic) has no partition \(missing), it has \(bounds.count)")
        }
        return try log.range(
            of: topic, in: bounds.filter { request.partitions?.contains($0.key) ?? true }, from: request.from,
            to: request.to)
    }

    private mutating func readDeadLetters(_ plan: inout DeadLetterPlan) throws -> (
        candidates: [DeadLetterCandidate], dead: Set<EventCoordinates>
    ) {
        var trial = DeadLetterTrial(request, configuration)
        var candidates: [DeadLetterCandidate] = []
        var found = plan
        var problems: [String] = []
        var named = Set((request.repaired ?? [:]).keys)
        let topic = configuration.topics.deadLetters
        try log.read(ranges, of: topic) { records, indices in
            for at in indices {
                let record = records[at]
                let place = Coordinates(partition: record.partition, offset: record.offset)
                guard
                    let verdict = trial.judge(record, headers: records.headers[record.headers].map { EventHeader($0) })
                else { continue }
                named.remove(place)
                found.deadLetters += 1
                switch verdict {
                case .left(let why, let reason, let letter):
                    if let reason { found.find(reason.code, of: reason.topic) }
                    if let letter { found.stillDead[letter.code.label, default: 0] += 1 }
                    found.leave(why)
                    // Time that passes is no mistake in the file.
                    guard request.repaired != nil, why != .tooOld, why != .expired else { continue }
                    let sentence = letter.map { "still \($0.code.label), \($0.message)" } ?? why.rawValue
                    problems.append("\(place.position(in: topic)): \(sentence)")
                case .candidate(let candidate, let event):
                    found.find(candidate.code, of: configuration.topics.topic(of: candidate.source))
                    try store.append(event, at: place)
                    candidates.append(candidate)
                    if candidates.count > Self.mostCandidates {
                        throw ReplayRefusal(
                            "more than \(Self.mostCandidates) dead letters could be put back; choose fewer by --from, --code or --partition"
                        )
                    }
                }
            }
        } progress: {
            context.progress(.deadLetters, $0, $1)
        }
        problems += named.sorted { ($0.partition, $0.offset) < ($1.partition, $1.offset) }.map {
            "\(topic)/\($0.partition)/\($0.offset): no such dead letter in the range"
        }
        guard problems.isEmpty else { throw UnfitRepairs(problems: problems) }
        plan = found
        return (candidates, trial.dead)
    }

    /// Each partition of a source from the first record that is to be put back; if its key may have moved since, all
    /// partitions from that record's time on.
    ///
    /// - Parameter candidates: at least one, all of this source.
    private mutating func read(
        _ source: SourceKind, behind candidates: [DeadLetterCandidate], into index: PutBackIndex
    ) throws -> KeyPartitions {
        let topic = configuration.topics.topic(of: source)
        // A transaction that puts some of them back may still be open.
        let bounds = try log.settledBounds(of: topic, timeout: configuration.transactionTimeout + .seconds(20))
        var partitions = KeyPartitions(bounds: bounds, firsts: try firstTimes(of: topic, bounds))
        let behind = try rangesToRead(source, candidates, bounds, partitions)
        try log.read(behind, of: topic) { records, indices in
            for at in indices {
                let record = records[at]
                let isFirst = index.note(
                    record, of: source, headers: records.headers[record.headers].map { EventHeader($0) })
                guard isFirst, let key = record.key, let time = record.timestamp else { continue }
                partitions.note(partition: record.partition, key: key, time: time)
            }
        } progress: {
            context.progress(.events, $0, $1)
        }
        for (partition, range) in behind { ends[SourcePartition(source, partition)] = range.upperBound }
        partitionCounts[source] = bounds.count
        return partitions
    }

    private mutating func rangesToRead(
        _ source: SourceKind, _ candidates: [DeadLetterCandidate], _ bounds: [Int32: Range<Int64>],
        _ partitions: KeyPartitions
    ) throws -> [Int32: Range<Int64>] {
        let topic = configuration.topics.topic(of: source)
        var starts: [Int32: Int64] = [:]
        for candidate in candidates {
            let partition = candidate.event.partition.number
            guard bounds[partition] != nil else {
                throw ReplayRefusal(
                    "\(topic) has no partition \(partition), it has \(bounds.count): a dead letter comes from there")
            }
            starts[partition] = min(starts[partition] ?? .max, candidate.event.offset + 1)
        }
        let times = candidates.map(\.timestamp).filter { partitions.mayHaveGrown(since: $0) }
        if let first = times.min() {
            starts.merge(try log.offsets(of: topic, at: bounds.mapValues { _ in first })) { min($0, $1) }
        }
        var ranges: [Int32: Range<Int64>] = [:]
        for (partition, start) in starts {
            guard let range = bounds[partition] else { continue }
            ranges[partition] = range.clamped(to: min(start, range.upperBound)..<range.upperBound)
        }
        return ranges
    }

    /// The times of the first records that producers wrote to each partition that has lost none. Records that were put
    /// back are not counted: they keep their old timestamps.
    private func firstTimes(of topic: String, _ bounds: [Int32: Range<Int64>]) throws -> [Int32: WallTime] {
        var found: [Int32: WallTime] = [:]
        let whole = bounds.filter { $0.value.lowerBound == 0 }
        try log.read(whole.mapValues { $0.clamped(to: 0..<1_000) }, of: topic) { records, indices in
            for at in indices where found[records[at].partition] == nil {
                let wasPutBack = records.headers[records[at].headers].contains { header in
                    header.name.elementsEqual(DeadLetterTrial.mark.utf8)
                        || header.name.elementsEqual("__connect.errors.topic".utf8)
                }
                if !wasPutBack { found[records[at].partition] = records[at].timestamp }
            }
        }
        return found
    }

    // MARK: Putting back

    /// Writes what ``plan()`` selected and this id has not yet put back. Before each transaction it checks what has
    /// changed since the plan, and skips what must no longer be put back.
    ///
    /// - Parameters:
    ///   - confirmed: the number of events that a person confirmed.
    ///   - progress: the tally so far, after each transaction.
    /// - Throws: what ``RedriveProducer/send(_:reaching:)`` throws, except for a rejected record, which is not put
    ///   back; and ``ReplayRefusal`` if partitions are added to a topic that is written to meanwhile.
    package mutating func send(
        _ confirmed: Int, with producer: inout RedriveProducer, pace: Pace, clock: @escaping () -> WallTime,
        progress: (DeadLetterResult) -> Void
    ) throws {
        // Commits the ranges and the number before anything is sent, so that a start after a crash knows them.
        if cursors.isEmpty {
            let positions = ranges.mapValues { range in
                DeadLetterCursor(
                    next: range.lowerBound, range: range, oldest: request.oldest, confirmed: confirmed,
                    digest: request.digest
                ).position
            }
            try producer.send([], reaching: producer.keyed(positions))
        }
        var watch: DeadLetterWatch?
        if let index, !left.isEmpty {
            watch = try DeadLetterWatch(
                index, request, from: ends, partitions: partitionCounts, context)
        }
        var sender = DeadLetterSender(
            request, configuration.topics, store: store, ranges: ranges, confirmed: confirmed,
            tallies: cursors.mapValues(\.tally),
            pace: pace,
            watch: watch, clock: clock)
        try sender.send(left, with: &producer, progress: progress)
    }
}

/// Lines of the file of repaired dead letters that cannot be put back, and why.
package struct UnfitRepairs: Error {
    package var problems: [String]
}
