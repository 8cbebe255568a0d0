import KafkaClient

/// Which partitions a worker has, and what has to happen before it reads them.
///
///     unassigned ─ assigned ─► locating ─ located ─► starting ─ started ─► refolding ─ folded ─► reading
///                                 ▲                     │                     │                    │
///                                 └────── rewound ──────┴─────────────────────┴────────────────────┘
///
/// ``released()`` leads from everywhere to `unassigned`, ``assigned(_:barrier:now:)`` from everywhere to `locating`.
///
/// It calls nothing and reads no clock: an input says what happened and returns what the worker has to do. One that does
/// not fit the phase is a defect of this program; it changes nothing. Waiting for the table is no phase, since the table's
/// gate can shut at any time: ``canWork(isTableReady:)`` is asked in every round. A revoke is answered within one call, so
/// no input ever meets a worker that is revoking.
struct AssignmentMachine: ~Copyable {
    enum Phase: Equatable {
        /// The group has given it nothing.
        case unassigned
        /// It asks the group for the committed offsets, and reads nothing until it knows them.
        case locating(Search)
        /// The positions are known, and the consumer has not taken them.
        case starting(Search)
        /// It reads; some states of orders are not yet those of the committed offsets.
        case refolding(RefoldReport)
        /// It reads, or the group has given it no partition.
        case reading
    }

    struct Search: Equatable {
        /// Ascending.
        var partitions: [Int32]
        /// The consumer has the partitions already, and only goes back.
        var isRewind: Bool
        var began: ContinuousClock.Instant
    }

    private(set) var phase = Phase.unassigned
    /// What was processed and committed of the partitions. They stay until others are located, or all are released.
    var positions = Positions()
    /// The membership that the partitions belong to (kafka-rules 7).
    var group: GroupMetadata?
    /// The table's barrier that fan-out waits for.
    private(set) var barrier = 0
    /// The partitions whose fold has reached the committed offset, and of which the core has not been told.
    private var finishedFolds: [Int32] = []

    // MARK: What the group says

    /// The group has given it these partitions. Positions that it still has count until the new ones are known: what is
    /// open is committed by them.
    mutating func assigned(_ partitions: [Int32], barrier: Int, now: ContinuousClock.Instant) {
        self.barrier = barrier
        phase =
            partitions.isEmpty
            ? .reading : .locating(Search(partitions: partitions.sorted(), isRewind: false, began: now))
    }

    /// It has no partition any more.
    mutating func released() {
        phase = .unassigned
        positions.revokeAll()
        group = nil
        barrier = 0
        finishedFolds.removeAll()
    }

    // MARK: Going back

    enum RewindAction: Equatable {
        /// It has read nothing that it could go back in.
        case nothing
        case locate
    }

    /// What was read since the last commit counts as not read. The group is asked, since a commit may have worked whose
    /// answer was lost.
    mutating func rewound(now: ContinuousClock.Instant) -> RewindAction {
        guard !positions.isEmpty else { return .nothing }
        let isRewind =
            switch phase {
            case .unassigned: false
            case .locating(let search), .starting(let search): search.isRewind
            case .refolding, .reading: true
            }
        phase = .locating(Search(partitions: positions.owned, isRewind: isRewind, began: now))
        return .locate
    }

    /// The consumer has given its partitions back, because it could not go back in one: they are assigned again.
    mutating func stoppedReading() {
        guard var search else { return }
        search.isRewind = false
        phase = .locating(search)
    }

    // MARK: Where to read

    enum AnswerAction: Equatable {
        /// Every partition has a committed offset.
        case locate
        /// These have none: find out where they begin, and commit that before any record is read.
        case begin([Int32], at: PipelineConfiguration.StartPosition)
        /// These have none, and nobody has said where they begin.
        case refuse([Int32])
    }

    /// The group has answered which of the partitions have a committed offset.
    func answered(
        _ committed: Set<Int32>, from start: PipelineConfiguration.StartPosition?
    ) throws(PipelineError) -> AnswerAction {
        guard let search else { throw misfit("committed offsets came") }
        let missing = search.partitions.filter { !committed.contains($0) }
        guard !missing.isEmpty else { return .locate }
        guard let start else { return .refuse(missing) }
        return .begin(missing, at: start)
    }

    /// The group has not answered yet.
    ///
    /// - Parameter limit: the longest time that an open transaction can keep it from answering.
    /// - Returns: whether it takes longer than that.
    func unanswered(
        longerThan limit: Duration, now: ContinuousClock.Instant
    ) throws(PipelineError) -> Bool {
        guard let search else { throw misfit("no committed offsets came") }
        return now - search.began > limit
    }

    enum StartAction: Equatable {
        case assign([Int32: Int64])
        /// The partitions are assigned, and stay so.
        case seek([Int32: Int64])
    }

    /// Committed offsets and states of orders are known. Where the consumer does not take the action, all of it is asked
    /// again.
    ///
    /// - Parameter folds: to where the states are folded.
    mutating func located(
        _ committed: [Int32: (offset: Int64, metadata: OffsetMetadata)], folds: [Int32: Int64], partitionCount: Int32
    ) throws(PipelineError) -> StartAction {
        guard let search else { throw misfit("positions were found") }
        phase = .starting(search)
        positions.assign(committed, folds: folds, partitionCount: partitionCount)
        finishedFolds.removeAll()
        let offsets = Dictionary(uniqueKeysWithValues: positions.owned.map { ($0, positions[$0]?.folded ?? 0) })
        return search.isRewind ? .seek(offsets) : .assign(offsets)
    }

    /// The consumer reads there.
    ///
    /// - Returns: the partitions whose states are those of the committed offsets.
    mutating func started(now: ContinuousClock.Instant) throws(PipelineError) -> [Int32] {
        guard case .starting = phase else { throw misfit("reading began") }
        phase =
            positions.foldingCount > 0 ? .refolding(RefoldReport(total: positions.leftToFold, now: now)) : .reading
        return positions.owned.filter { positions[$0]?.isFolding == false }
    }

    // MARK: Folding

    /// The state holds every record of the partition below this offset.
    mutating func fold(_ partition: Int32, upTo offset: Int64) {
        guard isRefolding, positions.fold(partition: partition, upTo: offset) else { return }
        finishedFolds.append(partition)
    }

    /// The partitions whose state became that of the committed offset since the last call.
    mutating func takeFinishedFolds() -> [Int32] {
        defer { finishedFolds.removeAll(keepingCapacity: true) }
        return finishedFolds
    }

    enum FoldAction: Equatable {
        /// More is to be folded; a line for the log, where one is due.
        case more(String?)
        /// Every state is that of its committed offset.
        case finish(String)
    }

    /// This many records were folded in a round.
    mutating func folded(_ records: Int, now: ContinuousClock.Instant) throws(PipelineError) -> FoldAction {
        guard case .refolding(var report) = phase else { throw misfit("records were folded") }
        report.add(records)
        guard positions.foldingCount > 0 else {
            phase = .reading
            return .finish(report.end(now: now))
        }
        let line = report.line(left: positions.leftToFold, now: now)
        phase = .refolding(report)
        return .more(line)
    }

    private func misfit(_ input: String) -> PipelineError {
        .misfit(input, while: "it was \(phase.name)")
    }
}

// MARK: What follows from the phase

extension AssignmentMachine {
    /// What is asked for, until it is read.
    var search: Search? {
        switch phase {
        case .locating(let search), .starting(let search): search
        case .unassigned, .refolding, .reading: nil
        }
    }

    var isRefolding: Bool {
        switch phase {
        case .refolding: true
        case .unassigned, .locating, .starting, .reading: false
        }
    }

    /// Whether there is something to read, and a table to fan out from.
    func canWork(isTableReady: Bool) -> Bool {
        switch phase {
        case .unassigned, .locating, .starting: false
        case .refolding, .reading: !positions.isEmpty && isTableReady
        }
    }

    /// To where the states of orders are folded that no abort takes back; nil while they may be newer than the positions.
    var committedFolds: [Int32: Int64]? {
        switch phase {
        case .unassigned: [:]
        case .locating, .starting: nil
        case .refolding, .reading: positions.committedFolds
        }
    }

    var readiness: ReadinessBoard.WorkerState {
        switch phase {
        case .unassigned: .joining
        case .locating, .starting: .positioning
        case .refolding: .refolding
        case .reading: .reading
        }
    }
}

extension AssignmentMachine.Phase {
    fileprivate var name: String {
        switch self {
        case .unassigned: "unassigned"
        case .locating: "locating"
        case .starting: "starting"
        case .refolding: "refolding"
        case .reading: "reading"
        }
    }
}
