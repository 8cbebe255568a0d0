import KafkaClient

/// Which partitions a worker has, and what has to happen before it reads them.
///
///     unassigned ─ assigned ─► locating ─ located ─► starting ─ started ─► refolding ─ folded ─► reading
///                                 ▲                     │                     │                    │
///                                 └────── rewound ──────┴─────────────────────┴────────────────────┘
///
/// ``released()`` leads from everywhere to `unassigned`, ``assigned(_:barrier:now:)`` from everywhere to `locating`.
///
/// It calls nothing and reads no clock: an input says what happened and returns what the worker has to do. One that
/// does not fit the phase is a defect of this program; it changes nothing. Waiting for the table is no phase, since the
/// table's gate can close at any time: ``canWork(isTableReady:)`` is checked in every round. A revocation is handled
/// within one call, so no input arrives during it.
struct AssignmentMachine: ~Copyable {
    enum Phase: Equatable {
        /// The group has assigned nothing.
        case unassigned
        /// It queries the committed offsets, and reads nothing until it knows them.
        case locating(Search)
        /// The positions are known, but the consumer does not have them yet.
        case starting(Search)
        /// It reads; some states of orders are not yet those of the committed offsets.
        case refolding(RefoldReport)
        /// It reads, or the group has assigned no partition to it.
        case reading
    }

    struct Search: Equatable {
        /// Ascending.
        var partitions: [SourcePartition]
        /// The consumer has the partitions already, and only seeks back.
        var isRewind: Bool
        var began: ContinuousClock.Instant
    }

    private(set) var phase = Phase.unassigned
    /// What the group has assigned, whether it is read or not.
    private(set) var groupPartitions: [SourcePartition] = []
    /// What was processed and committed of the partitions. Kept until new ones are located, or all are released.
    var positions = Positions()
    /// The membership that the partitions belong to (docs/kafka.md 7).
    var group: GroupMetadata?
    /// The table's barrier that fan-out waits for.
    private(set) var barrier = 0
    /// The partitions of the orders whose fold has reached the committed offset since ``takeFinishedFolds()``.
    private var finishedFolds: [Int32] = []

    // MARK: What the group says

    /// The group has assigned these partitions. The previous positions stay valid until the new ones are known: an open
    /// transaction is committed by them.
    mutating func assigned(_ partitions: [SourcePartition], barrier: Int, now: ContinuousClock.Instant) {
        self.barrier = barrier
        groupPartitions = partitions.sorted()
        phase =
            partitions.isEmpty ? .reading : .locating(Search(partitions: groupPartitions, isRewind: false, began: now))
    }

    /// The partitions were revoked or lost.
    mutating func released() {
        phase = .unassigned
        groupPartitions = []
        positions.revokeAll()
        group = nil
        barrier = 0
        finishedFolds.removeAll()
    }

    // MARK: Going back

    enum RewindAction: Equatable {
        /// No partition has a position to go back from.
        case nothing
        case locate
    }

    /// What was read since the last commit is to be read again. The committed offsets are queried, since a commit whose
    /// answer was lost may have worked.
    mutating func rewound(now: ContinuousClock.Instant) -> RewindAction {
        guard !positions.isEmpty else { return .nothing }
        let isRewind =
            switch phase {
            case .unassigned: false
            case .locating(let search), .starting(let search): search.isRewind
            case .refolding, .reading: true
            }
        phase = .locating(Search(partitions: search?.partitions ?? positions.owned, isRewind: isRewind, began: now))
        return .locate
    }

    /// Other partitions of the group's may be read now. The consumer reads none: all are located again.
    mutating func mustBegin(now: ContinuousClock.Instant) {
        guard !groupPartitions.isEmpty else { return }
        phase = .locating(Search(partitions: groupPartitions, isRewind: false, began: now))
    }

    /// Only these of the partitions that are located may be read now.
    mutating func narrow(to partitions: [SourcePartition]) {
        guard var search else { return }
        search.partitions = partitions
        phase = .locating(search)
    }

    /// The consumer was unassigned, because it cannot seek in one of its partitions: they are assigned again.
    mutating func stoppedReading() {
        guard var search else { return }
        search.isRewind = false
        phase = .locating(search)
    }

    // MARK: Where to read

    enum AnswerAction: Equatable {
        /// Every partition has a committed offset.
        case locate
        /// These have none: find their start offsets, and commit them before any record is read.
        case begin([SourcePartition: PipelineConfiguration.StartPosition])
        /// These have none, and no start was given.
        case refuse([SourcePartition])
    }

    /// The group has answered which of the partitions have a committed offset.
    ///
    /// - Parameter start: where partitions of a source begin; nil: that has to be said.
    func answered(
        _ committed: Set<SourcePartition>, from start: (SourceKind) -> PipelineConfiguration.StartPosition?
    ) throws(PipelineError) -> AnswerAction {
        guard let search else { throw misfit("committed offsets came") }
        let missing = search.partitions.filter { !committed.contains($0) }
        guard !missing.isEmpty else { return .locate }
        var starts: [SourcePartition: PipelineConfiguration.StartPosition] = [:]
        for partition in missing { starts[partition] = start(partition.source) }
        let refused = missing.filter { starts[$0] == nil }
        return refused.isEmpty ? .begin(starts) : .refuse(refused)
    }

    /// The group has not answered yet.
    ///
    /// - Parameter limit: the longest time that an open transaction can keep it from answering.
    /// - Returns: whether it has taken longer than that.
    func unanswered(
        longerThan limit: Duration, now: ContinuousClock.Instant
    ) throws(PipelineError) -> Bool {
        guard let search else { throw misfit("no committed offsets came") }
        return now - search.began > limit
    }

    enum StartAction: Equatable {
        case assign([SourcePartition: Int64])
        /// The partitions are assigned, and stay so.
        case seek([SourcePartition: Int64])
    }

    /// Committed offsets and states of orders are known. If the consumer fails to take the action, everything is
    /// queried again.
    ///
    /// - Parameters:
    ///   - folds: the offset up to which the state of each partition of the orders is folded.
    ///   - partitionCounts: of each source's topic.
    mutating func located(
        _ committed: [SourcePartition: CommittedPosition], folds: [Int32: Int64], partitionCounts: [SourceKind: Int32]
    ) throws(PipelineError) -> StartAction {
        guard let search else { throw misfit("positions were found") }
        phase = .starting(search)
        positions.assign(committed, folds: folds, partitionCounts: partitionCounts)
        finishedFolds.removeAll()
        let offsets = Dictionary(uniqueKeysWithValues: positions.owned.map { ($0, positions[$0]?.folded ?? 0) })
        return search.isRewind ? .seek(offsets) : .assign(offsets)
    }

    /// The consumer reads from the located positions.
    ///
    /// - Returns: the partitions of the orders whose states are those of the committed offsets.
    mutating func started(now: ContinuousClock.Instant) throws(PipelineError) -> [Int32] {
        guard case .starting = phase else { throw misfit("reading began") }
        phase =
            positions.orders.foldingCount > 0
            ? .refolding(RefoldReport(total: positions.orders.leftToFold, now: now)) : .reading
        return positions.orders.owned.filter { positions.orders[$0]?.isFolding == false }
    }

    // MARK: Folding

    /// The state holds every record of this partition of the orders below this offset.
    mutating func fold(_ partition: Int32, upTo offset: Int64) {
        guard isRefolding, positions.orders.fold(partition: partition, upTo: offset) else { return }
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
        guard positions.orders.foldingCount > 0 else {
            phase = .reading
            return .finish(report.end(now: now))
        }
        let line = report.line(left: positions.orders.leftToFold, now: now)
        phase = .refolding(report)
        return .more(line)
    }

    private func misfit(_ input: String) -> PipelineError {
        .misfit(input, while: "it was \(phase.name)")
    }
}

// MARK: What follows from the phase

extension AssignmentMachine {
    /// The partitions that are being located or started; nil otherwise.
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

    /// The offsets up to which the states of orders are folded and no abort rolls them back; nil while they may be
    /// ahead of the positions.
    var committedFolds: [Int32: Int64]? {
        switch phase {
        case .unassigned: [:]
        case .locating, .starting: nil
        case .refolding, .reading: positions.orders.committedFolds
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
