import Hosting
import KafkaClient
import Streaming

/// The partitions of a worker of the pipeline: where it is in them, which states of orders are folded, and which of the
/// table's barriers fan-out waits for. ``AssignmentMachine`` has the phases; its restoring is the fold.
///
/// Waiting for the table is no phase, since the table's gate can close at any time: ``canWork(isTableReady:)`` is checked
/// in every round.
struct WorkerAssignment: ~Copyable {
    typealias Search = AssignmentMachine<SourcePartition>.Search

    private(set) var machine = AssignmentMachine<SourcePartition>()
    /// What was processed and committed of the partitions. Kept until new ones are located, or all are released.
    var positions = Positions()
    /// The table's barrier that fan-out waits for.
    private(set) var barrier = 0
    private var report: RefoldReport?
    /// The partitions of the orders whose fold has reached the committed offset since ``takeFinishedFolds()``.
    private var finishedFolds: [Int32] = []

    /// The membership that the partitions belong to (docs/kafka.md 7).
    var group: GroupMetadata? {
        _read { yield machine.group }
        _modify { yield &machine.group }
    }

    /// What the group has assigned, whether it is read or not.
    var groupPartitions: [SourcePartition] { machine.groupPartitions }

    /// The partitions that are being located or started; nil otherwise.
    var search: Search? { machine.search }

    // MARK: What the group says

    /// The group has assigned these partitions. The previous positions stay valid until the new ones are known: an open
    /// transaction is committed by them.
    mutating func assigned(_ partitions: [SourcePartition], barrier: Int, now: ContinuousClock.Instant) {
        self.barrier = barrier
        machine.assigned(partitions, now: now)
    }

    /// The partitions were revoked or lost.
    mutating func released() {
        machine.released()
        positions.revokeAll()
        barrier = 0
        finishedFolds.removeAll()
    }

    /// What was read since the last commit is to be read again.
    mutating func rewound(now: ContinuousClock.Instant) -> AssignmentMachine<SourcePartition>.RewindAction {
        machine.rewound(positions.owned, now: now)
    }

    /// Other partitions of the group's may be read now. The consumer reads none: all are located again.
    mutating func mustBegin(now: ContinuousClock.Instant) { machine.mustBegin(now: now) }

    /// Only these of the partitions that are located may be read now.
    mutating func narrow(to partitions: [SourcePartition]) { machine.narrow(to: partitions) }

    /// The consumer was unassigned, because it cannot seek in one of its partitions: they are assigned again.
    mutating func stoppedReading() { machine.stoppedReading() }

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
        guard let search else { throw machine.misfit("committed offsets came") }
        let missing = search.partitions.filter { !committed.contains($0) }
        guard !missing.isEmpty else { return .locate }
        var starts: [SourcePartition: PipelineConfiguration.StartPosition] = [:]
        for partition in missing { starts[partition] = start(partition.source) }
        let refused = missing.filter { starts[$0] == nil }
        return refused.isEmpty ? .begin(starts) : .refuse(refused)
    }

    /// See ``AssignmentMachine/unanswered(longerThan:now:)``.
    func unanswered(longerThan limit: Duration, now: ContinuousClock.Instant) throws(PipelineError) -> Bool {
        try machine.unanswered(longerThan: limit, now: now)
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
        let isRewind = try machine.located()
        positions.assign(committed, folds: folds, partitionCounts: partitionCounts)
        finishedFolds.removeAll()
        let offsets = Dictionary(uniqueKeysWithValues: positions.owned.map { ($0, positions[$0]?.folded ?? 0) })
        return isRewind ? .seek(offsets) : .assign(offsets)
    }

    /// The consumer reads from the located positions.
    ///
    /// - Returns: the partitions of the orders whose states are those of the committed offsets.
    mutating func started(now: ContinuousClock.Instant) throws(PipelineError) -> [Int32] {
        let isRestoring = positions.orders.foldingCount > 0
        try machine.started(isRestoring: isRestoring)
        report = isRestoring ? RefoldReport(total: positions.orders.leftToFold, now: now) : nil
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
        guard isRefolding, var report else { throw machine.misfit("records were folded") }
        report.add(records)
        guard positions.orders.foldingCount > 0 else {
            try machine.restored()
            return .finish(report.end(now: now))
        }
        let line = report.line(left: positions.orders.leftToFold, now: now)
        self.report = report
        return .more(line)
    }
}

// MARK: What follows from the phase

extension WorkerAssignment {
    var isRefolding: Bool { machine.isRestoring }

    /// Whether there is something to read, and a table to fan out from.
    func canWork(isTableReady: Bool) -> Bool {
        switch machine.phase {
        case .unassigned, .locating, .starting: false
        case .restoring, .reading: !positions.isEmpty && isTableReady
        }
    }

    /// The offsets up to which the states of orders are folded and no abort rolls them back; nil while they may be
    /// ahead of the positions.
    var committedFolds: [Int32: Int64]? {
        switch machine.phase {
        case .unassigned: [:]
        case .locating, .starting: nil
        case .restoring, .reading: positions.orders.committedFolds
        }
    }

    var readiness: ReadinessBoard.WorkerState {
        switch machine.phase {
        case .unassigned: .joining
        case .locating, .starting: .positioning
        case .restoring: .refolding
        case .reading: .reading
        }
    }
}
