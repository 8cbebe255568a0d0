import KafkaClient

/// Puts dead letters back into the topic of events or of requests, where the running pipeline processes them like any
/// other record.
/// Before each slice it reads what was appended to them after the plan.
///
/// One owner, one thread. Memory grows by some hundred bytes for each dead letter that could be put back; their
/// bytes are in a ``Scratch``.
package struct DeadLetterRedrive: ~Copyable, ResendSession {
    /// The most candidates that are kept in memory.
    private static let mostCandidates = 1_000_000

    private let context: ReplayContext
    private let request: DeadLetterRequest
    private let store: DeadLetterStore
    private var log: KafkaLog
    /// The events and requests still to be put back, in the order of their dead letters.
    private var left: ArraySlice<DeadLetterCandidate> = []
    /// What the plan found in their topics: the index, where it stopped reading each partition, and their number.
    private var index: PutBackIndex?
    private var ends: [TopicPartition: Offset] = [:]
    private var partitionCounts: [String: Int] = [:]
    private var follower: LogFollower?

    package init(_ context: ReplayContext, _ request: DeadLetterRequest) throws {
        let store = try DeadLetterStore(context.scratch)
        let log = try KafkaLog(context)
        self.context = context
        self.request = request
        self.store = store
        self.log = log
    }

    private var configuration: PipelineConfiguration { context.configuration }

    // MARK: Finding out

    /// Reads the dead letters, and the events and requests after theirs.
    ///
    /// - Throws: ``UnfitRepairs``, and ``ReplayRefusal`` if there are too many dead letters.
    package mutating func plan() throws -> DeadLetterPlan {
        var plan = DeadLetterPlan()
        let (candidates, dead) = try readDeadLetters(try findRanges(), &plan)
        let index = PutBackIndex(candidates, dead: dead, configuration.topics, id: request.id)
        var left: [DeadLetterCandidate] = []
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
            } else if let home {
                candidate.home = home
                plan.select(candidate, of: topic, in: configuration.topics.deadLetters)
                left.append(candidate)
            } else {
                plan.leave(.moved)
            }
        }
        self.index = index
        left.sort {
            ($0.coordinates.partition, $0.coordinates.offset) < ($1.coordinates.partition, $1.coordinates.offset)
        }
        self.left = left[...]
        return plan
    }

    private mutating func findRanges() throws -> [Int32: Range<Int64>] {
        let topic = configuration.topics.deadLetters
        let bounds = try log.bounds(of: topic)
        if let missing = request.partitions?.first(where: { bounds[$0] == nil }) {
            throw ReplayRefusal("\(topic) has no partition \(missing), it has \(bounds.count)")
        }
        return try log.range(
            of: topic, in: bounds.filter { request.partitions?.contains($0.key) ?? true }, from: request.from,
            to: request.to)
    }

    private mutating func readDeadLetters(
        _ ranges: [Int32: Range<Int64>], _ plan: inout DeadLetterPlan
    ) throws -> (candidates: [DeadLetterCandidate], dead: Set<EventCoordinates>) {
        var trial = DeadLetterTrial(request, configuration)
        var candidates: [DeadLetterCandidate] = []
        var found = plan
        var problems: [String] = []
        var named = Set((request.repaired ?? [:]).keys)
        let topic = configuration.topics.deadLetters
        try log.read(ranges, of: topic) { records, indices in
            for at in indices {
                let record = records[at]
                let coordinates = Coordinates(partition: record.partition, offset: record.offset)
                guard
                    let verdict = trial.judge(record, headers: records.headers[record.headers].map { EventHeader($0) })
                else { continue }
                named.remove(coordinates)
                found.deadLetters += 1
                switch verdict {
                case .left(let why, let reason, let letter):
                    if let reason { found.find(reason.code, of: reason.topic) }
                    if let letter { found.stillDead[letter.code.label, default: 0] += 1 }
                    found.leave(why)
                    // Time that passes is no mistake in the file.
                    guard request.repaired != nil, why != .tooOld, why != .expired else { continue }
                    let sentence = letter.map { "still \($0.code.label), \($0.message)" } ?? why.rawValue
                    problems.append("\(coordinates.position(in: topic)): \(sentence)")
                case .candidate(let candidate, let event):
                    found.find(candidate.code, of: configuration.topics.topic(of: candidate.source))
                    try store.append(event, at: coordinates)
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
        for (partition, range) in behind {
            ends[TopicPartition(topic: topic, partition: partition)] = Offset(range.upperBound)
        }
        partitionCounts[topic] = bounds.count
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
            if start < range.lowerBound, !request.isNewID {
                throw ReplayRefusal(
                    "\(topic)/\(partition) no longer has the records from \(start) to \(range.lowerBound), and what --id "
                        + "\(request.id) put back may be among them: choose a later --from, or another --id, which puts "
                        + "all of them back again")
            }
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

    package func next(limit: Int) -> [DeadLetterCandidate] { Array(left.prefix(limit)) }

    package mutating func settle(_ items: ArraySlice<DeadLetterCandidate>) { left = left.dropFirst(items.count) }

    /// - Throws: what ``LogFollower/advance(tell:take:)`` throws.
    package mutating func look(tell: ResendProducer.Tell) throws {
        guard let index else { return }
        let topics = configuration.topics
        if follower == nil { follower = try LogFollower(ends, partitionCounts: partitionCounts, context) }
        try follower?.advance(tell: tell) { records in
            for at in 0..<records.count {
                let record = records[at]
                guard let source = topics.source(of: record.topic) else { continue }
                index.note(record, of: source, headers: records.headers[record.headers].map { EventHeader($0) })
            }
        }
    }

    package func verdict(on candidate: DeadLetterCandidate, now: WallTime) -> ResendVerdict<DeadLetterLeft> {
        index.map { request.verdict(on: candidate, $0, now: now) } ?? .send
    }

    package func record(of candidate: DeadLetterCandidate) throws -> ResendRecord {
        var event = try store.event(at: candidate.coordinates)
        event.partition = candidate.home
        return (configuration.topics.topic(of: candidate.source), event)
    }
}

/// Lines of the file of repaired dead letters that cannot be put back, and why.
package struct UnfitRepairs: Error {
    package var problems: [String]
}
