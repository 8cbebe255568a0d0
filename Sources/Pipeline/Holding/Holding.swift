import KafkaClient

/// Which partitions may be read now: decided by what the state folder remembers, and by how far each has been read (ADR 56).
///
/// A value: it calls nothing and reads no clock. A partition with ``MemoryNotes/untilTurns`` deaths has a turn, in which
/// nothing else is read; one that begins where ``MemoryNotes/untilHeld`` processes have died is held.
struct Holding: Sendable {
    /// Who reads partitions: of one topic each two readers have different ones.
    enum Reader: Hashable, Comparable, Sendable {
        /// The table's follower has its turns first: the workers wait for the table.
        case follower
        case worker(Int)
    }

    /// How far a reader is in a partition.
    struct Progress: Equatable, Sendable {
        /// The offset of the next record: where it waits for the next batch.
        var offset: Int64
        /// Nothing below it is left to read.
        var reached: Int64
    }

    private struct Owned: Equatable, Sendable {
        var progress: Progress
        /// The end of the partition, as it was asked for when the reader began.
        var end: Int64
    }

    private struct Turn: Equatable, Sendable {
        var partition: TopicPartition
        var deaths = 0
        var received = 0
        var progress: Progress?
        /// When ``progress`` changed; nil while its reader still waits for something else.
        var movedAt: ContinuousClock.Instant?
    }

    /// A response of a fetch without a bomb holds less than this: what a turn has received when it is over.
    static let turnBytes = 64 << 20
    /// A turn in which nothing arrives, and no memory grows, ends after this time.
    static let turnPatience = Duration.seconds(60)

    private(set) var notes: MemoryNotes
    let passed: PassedBatches
    /// The partitions of each reader, and how far it is in those that it reads.
    private var owned: [Reader: [TopicPartition: Owned?]] = [:]
    /// What each reader reads.
    private var taken: [Reader: Set<TopicPartition>] = [:]
    private(set) var held: [TopicPartition: Int64] = [:]
    private var turn: Turn?

    init(_ notes: MemoryNotes = MemoryNotes(), _ passed: PassedBatches = PassedBatches()) {
        self.notes = notes
        self.passed = passed
    }

    /// Whether there is anything to decide: without it every partition is read.
    var isActive: Bool { !notes.notes.isEmpty || !held.isEmpty || turn != nil || !passed.ranges.isEmpty }

    /// The partition whose turn it is.
    var current: TopicPartition? { turn?.partition }

    // MARK: What a reader does

    /// A reader has these partitions now, and does not know yet where it reads them.
    ///
    /// - Returns: those that it may locate.
    mutating func enter(_ reader: Reader, _ partitions: [TopicPartition], now: ContinuousClock.Instant) -> Set<
        TopicPartition
    > {
        let known = owned[reader] ?? [:]
        owned[reader] = Dictionary(uniqueKeysWithValues: partitions.map { ($0, known[$0] ?? nil) })
        return readable(reader, now)
    }

    /// A reader is about to read from these offsets.
    ///
    /// - Parameter ends: of the partitions.
    /// - Returns: whether it may read these, and there are no others that it may read.
    mutating func take(
        _ reader: Reader, _ starts: [TopicPartition: Int64], ends: [TopicPartition: Int64], now: ContinuousClock.Instant
    ) -> Bool {
        for (partition, start) in starts {
            owned[reader, default: [:]][partition] = Owned(
                progress: Progress(offset: start, reached: start), end: ends[partition] ?? start)
            notes.passed(partition, below: start)
            judge(partition, at: start)
        }
        // The group has been moved beyond the position that gave it its turn.
        if let turn, turn.progress == nil, let start = starts[turn.partition],
            !isSuspect(turn.partition, Progress(offset: start, reached: start), of: reader)
        {
            self.turn = nil
        }
        taken[reader] = Set(starts.keys)
        return readable(reader, now) == taken[reader]
    }

    /// A reader has no partition any more.
    mutating func leave(_ reader: Reader) {
        for partition in (owned[reader] ?? [:]).keys {
            held[partition] = nil
            if turn?.partition == partition { turn = nil }
        }
        owned[reader] = nil
        taken[reader] = nil
    }

    /// How far a reader is; all of it is committed.
    ///
    /// - Parameters:
    ///   - bytes: what it has read since the last call.
    ///   - isReading: whether it could read, and does not wait for something else, such as the table.
    /// - Returns: whether it has to begin again, with ``enter(_:_:now:)`` and ``take(_:_:ends:now:)``: it may read other
    ///   partitions now, or has reached a batch that is held or passed.
    mutating func reached(
        _ reader: Reader, _ progress: [TopicPartition: Progress], bytes: Int, isReading: Bool,
        now: ContinuousClock.Instant
    ) -> Bool {
        var isAtHeldOrPassed = false
        for (partition, next) in progress {
            guard var found = owned[reader]?[partition] ?? nil, found.progress != next else { continue }
            let hasMoved = found.progress.offset != next.offset
            found.progress = next
            owned[reader]?[partition] = found
            guard hasMoved else { continue }
            notes.passed(partition, below: next.offset)
            judge(partition, at: next.offset)
            let isPassed = passed.range(at: RecordPosition(partition, next.offset)) != nil
            isAtHeldOrPassed = isAtHeldOrPassed || isPassed || held[partition] != nil
        }
        if var turn, let progress = progress[turn.partition], isReading {
            turn.received += bytes
            if turn.progress != progress { turn.movedAt = now }
            turn.progress = progress
            self.turn = turn
        }
        return readable(reader, now) != taken[reader] ?? [] || isAtHeldOrPassed
    }

    /// The process takes more memory while a reader waits here.
    mutating func grew(_ reader: Reader, _ offsets: [TopicPartition: Int64]) {
        for (partition, offset) in offsets where taken[reader]?.contains(partition) == true {
            let deaths = turn?.partition == partition ? turn?.deaths ?? 0 : 0
            notes.grew(at: RecordPosition(partition, offset), deaths: deaths)
        }
    }

    /// Something has arrived for a reader, which explains the memory.
    mutating func arrived(_ reader: Reader) {
        for partition in taken[reader] ?? [] { notes.arrived(in: partition) }
    }

    mutating func start() -> Bool { notes.start() }

    mutating func end() { notes.end() }

    // MARK: Decisions

    private mutating func judge(_ partition: TopicPartition, at offset: Int64) {
        let position = RecordPosition(partition, offset)
        let isHeld = notes.deaths(at: position) >= MemoryNotes.untilHeld && passed.range(at: position) == nil
        held[partition] = isHeld ? offset : nil
    }

    private mutating func readable(_ reader: Reader, _ now: ContinuousClock.Instant) -> Set<TopicPartition> {
        considerTurn(now)
        let open = Set((owned[reader] ?? [:]).keys.filter { held[$0] == nil })
        guard let partition = turn?.partition else { return open }
        switch reader {
        case .follower where owned[.follower]?[partition] == nil: return open
        case .follower, .worker: return open.intersection([partition])
        }
    }

    /// Ends a turn that is over, and begins the next one.
    private mutating func considerTurn(_ now: ContinuousClock.Instant) {
        if let turn, isOver(turn, now) {
            notes.passed(turn.partition, below: .max)
            self.turn = nil
        }
        if let turn, held[turn.partition] == nil { return }
        turn = nil
        for reader in owned.keys.sorted() {
            for (partition, owned) in (owned[reader] ?? [:]).sorted(by: { $0.key < $1.key })
            where held[partition] == nil && isSuspect(partition, owned?.progress, of: reader) {
                let deaths = notes.deaths(in: partition, from: owned?.progress.offset ?? 0)
                turn = Turn(partition: partition, deaths: deaths)
                return
            }
        }
    }

    private func isSuspect(_ partition: TopicPartition, _ progress: Progress?, of reader: Reader) -> Bool {
        if notes.deaths(in: partition, from: progress?.offset ?? 0) >= MemoryNotes.untilTurns { return true }
        switch reader {
        case .follower: return progress.map { passed.isAhead(in: partition, of: $0.offset) } ?? false
        case .worker: return false
        }
    }

    private func isOver(_ turn: Turn, _ now: ContinuousClock.Instant) -> Bool {
        guard let owned = owned.values.lazy.compactMap({ $0[turn.partition] ?? nil }).first else { return false }
        if owned.progress.reached >= owned.end { return true }
        // On a busy machine a bomb may take longer than that.
        let isGrowing = notes.notes[RecordPosition(turn.partition, owned.progress.offset)]?.isGrowing == true
        if let movedAt = turn.movedAt, now - movedAt > Self.turnPatience, !isGrowing { return true }
        let isAhead =
            notes.deaths(in: turn.partition, from: owned.progress.offset) > 0
            || passed.isAhead(in: turn.partition, of: owned.progress.offset)
        return turn.received >= Self.turnBytes && !isAhead
    }
}
