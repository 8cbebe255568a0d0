import KafkaClient

/// Reads what was appended to the log after the plan, before events are put back. One owner, one thread.
struct DeadLetterWatch: ~Copyable {
    private let index: PutBackIndex
    private let request: DeadLetterRequest
    private let topics: PipelineConfiguration.Topics
    private var follower: LogFollower

    /// - Parameters:
    ///   - index: what the plan found in the topics of events and requests.
    ///   - ends: by partition, the offset at which the plan stopped reading.
    ///   - partitions: the number of partitions of each of these topics.
    init(
        _ index: PutBackIndex, _ request: DeadLetterRequest, from ends: [SourcePartition: Int64],
        partitions: [SourceKind: Int],
        _ context: ReplayContext
    ) throws {
        let topics = context.configuration.topics
        var starts: [TopicPartition: Offset] = [:]
        for (partition, offset) in ends { starts[topics.topicPartition(of: partition)] = Offset(offset) }
        var counts: [String: Int] = [:]
        for (source, count) in partitions { counts[topics.topic(of: source)] = count }
        follower = try LogFollower(starts, partitionCounts: counts, context)
        self.topics = topics
        self.index = index
        self.request = request
    }

    /// Reads what was appended since the last call.
    ///
    /// - Throws: what ``LogFollower/advance(tell:take:)`` throws.
    mutating func look(tell: (String) -> Void) throws {
        let (index, topics) = (index, topics)
        try follower.advance(tell: tell) { records in
            for at in 0..<records.count {
                let record = records[at]
                guard let source = topics.source(of: record.topic) else { continue }
                index.note(record, of: source, headers: records.headers[record.headers].map { EventHeader($0) })
            }
        }
    }

    /// Why an event must not be put back now; nil if it may be.
    func reason(against candidate: DeadLetterCandidate, now: WallTime) -> DeadLetterLeft? {
        request.reason(against: candidate, index, now: now)
    }
}

extension DeadLetterRequest {
    /// Why a selected event must not be put back now; nil if it may be.
    func reason(against candidate: DeadLetterCandidate, _ index: PutBackIndex, now: WallTime) -> DeadLetterLeft? {
        if index.isPutBack(candidate) { return .putBack }
        if let maxAge, candidate.time < now - maxAge { return .tooOld }
        if candidate.isExpired(at: now) { return .expired }
        return !includesLate && index.isLate(candidate) ? .late : nil
    }
}

/// Writes the events of dead letters in their order, one transaction for each second's worth. Before each transaction
/// it checks what has changed since the plan; events that are overtaken, or that the broker rejects, are skipped.
struct DeadLetterSender: ~Copyable {
    private static let transactionBytes = 8 << 20
    private static let mostRefusals = 20

    private struct Turn {
        var candidate: DeadLetterCandidate
        /// Nil if it is skipped.
        var event: ProducerRecord?
        var left: DeadLetterLeft?
    }

    let request: DeadLetterRequest
    let topics: PipelineConfiguration.Topics
    let store: DeadLetterStore
    /// By partition of the dead letters.
    let ranges: [Int32: Range<Int64>]
    let confirmed: Int
    /// By partition of the dead letters, the tally so far.
    var tallies: [Int32: DeadLetterTally]
    var pace: Pace
    /// Nil if there is nothing to put back.
    var watch: DeadLetterWatch?
    let clock: () -> WallTime
    private var refusals: [DeadLetterRefusal] = []

    init(
        _ request: DeadLetterRequest, _ topics: PipelineConfiguration.Topics, store: DeadLetterStore,
        ranges: [Int32: Range<Int64>], confirmed: Int,
        tallies: [Int32: DeadLetterTally], pace: Pace, watch: consuming DeadLetterWatch?,
        clock: @escaping () -> WallTime
    ) {
        self.request = request
        self.topics = topics
        self.store = store
        self.ranges = ranges
        self.confirmed = confirmed
        self.tallies = tallies
        self.pace = pace
        self.watch = watch
        self.clock = clock
    }

    private var result: DeadLetterResult {
        var result = DeadLetterResult()
        result.tally = tallies.values.reduce(DeadLetterTally(), +)
        result.refusals = refusals
        return result
    }

    /// - Parameters:
    ///   - candidates: in the order of their dead letters.
    ///   - progress: called after each transaction.
    /// - Throws: what ``RedriveProducer/send(_:reaching:)`` and ``DeadLetterWatch/look(tell:)`` throw.
    mutating func send(
        _ candidates: [DeadLetterCandidate], with producer: inout RedriveProducer, progress: (DeadLetterResult) -> Void
    ) throws {
        var next = 0
        while next < candidates.count {
            if producer.mustStop { throw ReplayStopped() }
            let began = ContinuousClock.now
            let turns = try turns(candidates[next...], tell: producer.tell)
            do {
                // Checks again after a failure: it may have taken long.
                guard try send(turns, with: &producer) else { continue }
            } catch is RecordRefused {
                try sendEach(turns, with: &producer)
            }
            next += turns.count
            progress(result)
            producer.wait(until: pace.take(turns.count { $0.event != nil }, now: began))
        }
        if producer.mustStop { throw ReplayStopped() }
        let ends = ranges.reduce(into: [:]) { $0[$1.key] = position($1.key, $1.value.upperBound, tallies) }
        try producer.send([], reaching: producer.keyed(ends))
        progress(result)
    }

    /// The next candidates, as many as fit in one transaction, each checked.
    private mutating func turns(_ candidates: ArraySlice<DeadLetterCandidate>, tell: (String) -> Void) throws -> [Turn]
    {
        try watch?.look(tell: tell)
        let now = clock()
        var turns: [Turn] = []
        var bytes = 0
        for candidate in candidates {
            guard turns.count < pace.recordsAtOnce, bytes < Self.transactionBytes else { break }
            var turn = Turn(candidate: candidate)
            turn.left = watch?.reason(against: candidate, now: now)
            if turn.left == nil, var event = try store.event(at: candidate.place) {
                event.partition = candidate.home
                bytes += event.value?.count ?? 0
                turn.event = event
            }
            turns.append(turn)
        }
        return turns
    }

    /// - Returns: false if nothing was written.
    private mutating func send(_ turns: [Turn], with producer: inout RedriveProducer) throws -> Bool {
        var next = tallies
        var positions: [Int32: Int64] = [:]
        for turn in turns {
            let place = turn.candidate.place
            positions[place.partition] = place.offset + 1
            if let left = turn.left {
                next[place.partition, default: .init()].left[left, default: 0] += 1
            } else {
                next[place.partition, default: .init()].putBack += 1
            }
        }
        var reached: [Int32: RedrivePosition] = [:]
        for (partition, offset) in positions { reached[partition] = position(partition, offset, next) }
        let records = turns.compactMap { turn in
            turn.event.map { (topic: topics.topic(of: turn.candidate.source), record: $0) }
        }
        guard try producer.sendOnce(records, reaching: producer.keyed(reached)) else { return false }
        tallies = next
        return true
    }

    /// One transaction for each event, so that only those the broker rejects are skipped.
    private mutating func sendEach(_ turns: [Turn], with producer: inout RedriveProducer) throws {
        for turn in turns {
            do {
                while try !send([turn], with: &producer) {
                    if producer.mustStop { throw ReplayStopped() }
                }
            } catch let refused as RecordRefused {
                let stays = Turn(candidate: turn.candidate, left: .refused)
                while try !send([stays], with: &producer) {}
                if refusals.count < Self.mostRefusals {
                    refusals.append(DeadLetterRefusal(place: turn.candidate.place, message: refused.error.description))
                }
            }
        }
    }

    private func position(_ partition: Int32, _ next: Int64, _ tallies: [Int32: DeadLetterTally]) -> RedrivePosition {
        DeadLetterCursor(
            next: next, range: ranges[partition] ?? next..<next, oldest: request.oldest, confirmed: confirmed,
            digest: request.digest, tally: tallies[partition] ?? DeadLetterTally()
        ).position
    }
}
