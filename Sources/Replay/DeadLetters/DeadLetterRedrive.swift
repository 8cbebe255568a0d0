import Extraction
import KafkaClient
import Pipeline
import StateStore

/// Puts dead letters back into the events, for the running pipeline to treat as any other: first finds out which
/// (``plan()``), then writes them, exactly once over crashes and second starts (``send(_:with:pace:progress:)``).
///
/// One owner, one thread. Memory grows with the dead letters that could be put back, by some hundred bytes each; their
/// bytes are in a ``Scratch``.
package struct DeadLetterRedrive: ~Copyable {
    /// What it is at, for a person who waits.
    package enum Stage: String, Sendable {
        case deadLetters = "dead letters"
        case events
    }

    package typealias Progress = (Stage, Int, Double) -> Void

    /// No more are kept in memory.
    private static let mostCandidates = 1_000_000
    private static let transactionBytes = 8 << 20

    private let configuration: PipelineConfiguration
    private var request: DeadLetterRequest
    private let id: String?
    private let store: DeadLetterStore
    private let isStopped: @Sendable () -> Bool
    private let progress: Progress
    private var log: KafkaLog
    /// By partition of the dead letters; of a run that goes on.
    private var cursors: [Int32: DeadLetterCursor] = [:]
    private var ranges: [Int32: Range<Int64>] = [:]
    /// What is still to be put back, in the order of the dead letters.
    private var left: [DeadLetterCandidate] = []

    /// - Parameter id: of the run; nil: nothing is to be sent.
    package init(
        _ configuration: PipelineConfiguration, _ request: DeadLetterRequest, id: String?, scratch: Scratch,
        logger: @escaping ClientLog.Sink, isStopped: @escaping @Sendable () -> Bool = { false },
        progress: @escaping Progress = { _, _, _ in }
    ) throws {
        let store = DeadLetterStore(try scratch.store("dead-letters"))
        let log = try KafkaLog(configuration, logger: logger, isStopped: isStopped)
        self.configuration = configuration
        self.request = request
        self.id = id
        self.store = store
        self.isStopped = isStopped
        self.progress = progress
        self.log = log
    }

    /// Goes on where the id stands.
    ///
    /// - Parameter positions: what ``RedriveProducer/takeOver()`` has found.
    /// - Returns: how many events were confirmed then, and whether all of it is done; nil: the id is new.
    /// - Throws: ``ReplayRefusal`` where it was asked for something else.
    package mutating func resume(
        _ positions: [Int32: RedrivePosition]
    ) throws(ReplayRefusal) -> (confirmed: Int, isDone: Bool)? {
        let id = id ?? ""
        for (partition, position) in positions {
            let cursor = try DeadLetterCursor(position, id: id)
            guard cursor.digest == request.digest else {
                throw ReplayRefusal(
                    "--id \(id) was begun with other options or other rules: give the same ones to go on, or another --id"
                )
            }
            cursors[partition] = cursor
            request.oldest = cursor.oldest
        }
        guard let first = cursors.values.first else { return nil }
        return (first.confirmed, cursors.values.allSatisfy(\.isDone))
    }

    // MARK: Finding out

    /// Reads the dead letters and what the events say behind them.
    ///
    /// - Throws: ``UnfitRepairs``, and ``ReplayRefusal`` where there are too many to look at.
    package mutating func plan() throws -> DeadLetterPlan {
        var plan = DeadLetterPlan()
        ranges = try findRanges()
        let (candidates, dead) = try readDeadLetters(&plan)
        let index = try readEvents(behind: candidates, dead)
        for candidate in candidates {
            if index.isDone(candidate) {
                plan.select(candidate)
                plan.done += 1
            } else if index.isPutBack(candidate) {
                plan.leave(.putBack)
            } else if isPassed(candidate) || index.isLate(candidate) && !request.includesLate {
                plan.leave(.late)
            } else {
                plan.select(candidate)
                left.append(candidate)
            }
        }
        left.sort { ($0.place.partition, $0.place.offset) < ($1.place.partition, $1.place.offset) }
        return plan
    }

    /// This run has left it out, before it was interrupted.
    private func isPassed(_ candidate: DeadLetterCandidate) -> Bool {
        cursors[candidate.place.partition].map { candidate.place.offset < $0.next } ?? false
    }

    private mutating func findRanges() throws -> [Int32: Range<Int64>] {
        let topic = configuration.topics.deadLetters
        let bounds = try log.bounds(of: topic)
        if !cursors.isEmpty {
            // What has gone from the topic meanwhile cannot be put back any more.
            return cursors.reduce(into: [:]) { $0[$1.key] = $1.value.range.clamped(to: bounds[$1.key] ?? 0..<0) }
        }
        if let missing = request.partitions?.first(where: { bounds[$0] == nil }) {
            throw ReplayRefusal("\(topic) has no partition \(missing), it has \(bounds.count)")
        }
        var ranges = bounds.filter { request.partitions?.contains($0.key) ?? true }
        if let from = request.from {
            for (partition, start) in try log.offsets(of: topic, at: ranges.mapValues { _ in from }) {
                ranges[partition] = ranges[partition]?.clamped(to: start..<Int64.max)
            }
        }
        if let to = request.to {
            for (partition, end) in try log.offsets(of: topic, at: ranges.mapValues { _ in to }) {
                ranges[partition] = ranges[partition]?.clamped(to: 0..<max(0, end))
            }
        }
        return ranges
    }

    private mutating func readDeadLetters(_ plan: inout DeadLetterPlan) throws -> (
        candidates: [DeadLetterCandidate], dead: Set<Coordinates>
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
                found.found += 1
                switch verdict {
                case .left(let why, let code, let letter):
                    if let code { found.byCode[code, default: .init()].found += 1 }
                    if let letter { found.stillDead[letter.code.label, default: 0] += 1 }
                    found.leave(why)
                    guard request.repaired != nil, why != .tooOld else { continue }
                    let reason = letter.map { "still \($0.code.label), \($0.message)" } ?? why.rawValue
                    problems.append("\(topic)/\(place.partition)/\(place.offset): \(reason)")
                case .candidate(let candidate, let event):
                    found.byCode[candidate.code, default: .init()].found += 1
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
            progress(.deadLetters, $0, $1)
        }
        try store.flush()
        problems += named.sorted { ($0.partition, $0.offset) < ($1.partition, $1.offset) }.map {
            "\(topic)/\($0.partition)/\($0.offset): no such dead letter in the range"
        }
        guard problems.isEmpty else { throw UnfitRepairs(problems: problems) }
        plan = found
        return (candidates, trial.dead)
    }

    /// Each partition behind the first event that is to be put back.
    private mutating func readEvents(
        behind candidates: [DeadLetterCandidate], _ dead: Set<Coordinates>
    ) throws -> PutBackIndex {
        let topic = configuration.topics.events
        var index = PutBackIndex(candidates, dead: dead, configuration.topics, id: id)
        guard !candidates.isEmpty else { return index }
        // A transaction that puts some of them back may just be open.
        let bounds = try log.settledBounds(of: topic, timeout: configuration.transactionTimeout + .seconds(20))
        var behind: [Int32: Range<Int64>] = [:]
        for candidate in candidates {
            let partition = candidate.event.partition
            guard let range = bounds[partition] else {
                throw ReplayRefusal(
                    "\(topic) has no partition \(partition), it has \(bounds.count): an event stood there")
            }
            let first = min(behind[partition]?.lowerBound ?? .max, candidate.event.offset + 1)
            behind[partition] = range.clamped(to: min(first, range.upperBound)..<range.upperBound)
        }
        try log.read(behind, of: topic) { records, indices in
            for at in indices {
                index.note(records[at], headers: records.headers[records[at].headers].map { EventHeader($0) })
            }
        } progress: {
            progress(.events, $0, $1)
        }
        return index
    }

    // MARK: Putting back

    /// Writes what ``plan()`` has selected and this id has not put back yet.
    ///
    /// - Parameters:
    ///   - confirmed: how many events a person has confirmed.
    ///   - progress: how many it has put back by now, after each transaction.
    /// - Throws: what ``RedriveProducer/send(_:reaching:)`` throws.
    package mutating func send(
        _ confirmed: Int, with producer: inout RedriveProducer, pace: RedrivePace, progress: (Int) -> Void
    ) throws {
        var pace = pace
        func position(_ partition: Int32, _ next: Int64) -> RedrivePosition {
            DeadLetterCursor(
                next: next, range: ranges[partition] ?? next..<next, oldest: request.oldest, confirmed: confirmed,
                digest: request.digest
            ).position
        }
        // So that a start after a crash knows the ranges and the number, whatever has been sent by then.
        if cursors.isEmpty {
            try producer.send(
                [], reaching: ranges.reduce(into: [:]) { $0[$1.key] = position($1.key, $1.value.lowerBound) })
        }
        var next = 0
        while next < left.count {
            var events: [ProducerRecord] = []
            var positions: [Int32: RedrivePosition] = [:]
            var bytes = 0
            while next < left.count, events.count < pace.recordsAtOnce, bytes < Self.transactionBytes {
                let place = left[next].place
                next += 1
                positions[place.partition] = position(place.partition, place.offset + 1)
                guard let event = try store.event(at: place) else { continue }
                bytes += event.value?.count ?? 0
                events.append(event)
            }
            if isStopped() { throw ReplayStopped() }
            let began = ContinuousClock.now
            try producer.send(events, reaching: positions)
            progress(next)
            producer.wait(until: pace.next(after: events.count, now: began))
        }
        if isStopped() { throw ReplayStopped() }
        try producer.send([], reaching: ranges.reduce(into: [:]) { $0[$1.key] = position($1.key, $1.value.upperBound) })
    }
}

/// Lines of the file of repaired dead letters that cannot be put back, and why.
package struct UnfitRepairs: Error {
    package var problems: [String]
}
