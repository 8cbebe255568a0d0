import Hosting
import KafkaClient

/// Which partitions a worker has, and what has to happen before it reads them.
///
///     unassigned ─ assigned ─► locating ─ located ─► starting ─ started ─► reading
///                                 ▲                     │                     │
///                                 └───── mustBegin ─────┴─────────────────────┘
///
/// ``released()`` leads from everywhere to `unassigned`, ``assigned(_:now:)`` from everywhere to `locating`.
///
/// It calls nothing and reads no clock: an input says what happened and returns what the worker has to do. One that
/// does not fit the phase is a defect of this program; it changes nothing. A revocation is handled within one call, so no
/// input arrives during it.
package struct AssignmentMachine<Partition: Comparable & Hashable & Sendable>: ~Copyable {
    package enum Phase: Equatable {
        /// The group has assigned nothing.
        case unassigned
        /// It queries the committed offsets, and reads nothing until it knows them.
        case locating(Search)
        /// The positions are known, but the consumer does not have them yet.
        case starting(Search)
        /// It reads, or the group has assigned no partition to it.
        case reading
    }

    package struct Search: Equatable {
        /// Ascending.
        package fileprivate(set) var partitions: [Partition]
        package fileprivate(set) var began: ContinuousClock.Instant
    }

    package private(set) var phase = Phase.unassigned
    /// What the group has assigned, whether it is read or not.
    package private(set) var groupPartitions: [Partition] = []
    /// The membership that the partitions belong to (docs/kafka.md 7).
    package var group: GroupMetadata?

    package init() {}

    // MARK: What the group says

    /// The group has assigned these partitions.
    package mutating func assigned(_ partitions: [Partition], now: ContinuousClock.Instant) {
        groupPartitions = partitions.sorted()
        phase =
            partitions.isEmpty ? .reading : .locating(Search(partitions: groupPartitions, began: now))
    }

    /// The partitions were revoked or lost.
    package mutating func released() {
        phase = .unassigned
        groupPartitions = []
        group = nil
    }

    // MARK: Going back

    /// All partitions of the group's are located again. The consumer reads none.
    package mutating func mustBegin(now: ContinuousClock.Instant) {
        guard !groupPartitions.isEmpty else { return }
        phase = .locating(Search(partitions: groupPartitions, began: now))
    }

    // MARK: Where to read

    /// The group has not answered yet.
    ///
    /// - Parameter limit: the longest time that an open transaction can keep it from answering.
    /// - Returns: whether it has taken longer than that.
    package func unanswered(
        longerThan limit: Duration, now: ContinuousClock.Instant
    ) throws(PipelineError) -> Bool {
        guard let search else { throw misfit("no committed offsets came") }
        return now - search.began > limit
    }

    /// The committed offsets are known. If the consumer fails to take them, everything is queried again.
    package mutating func located() throws(PipelineError) {
        guard let search else { throw misfit("positions were found") }
        phase = .starting(search)
    }

    /// The consumer reads from the located positions.
    package mutating func started() throws(PipelineError) {
        guard case .starting = phase else { throw misfit("reading began") }
        phase = .reading
    }

    package func misfit(_ input: String) -> PipelineError { .misfit(input, while: "it was \(phase.name)") }
}

// MARK: What follows from the phase

extension AssignmentMachine {
    /// The partitions that are being located or started; nil otherwise.
    package var search: Search? {
        switch phase {
        case .locating(let search), .starting(let search): search
        case .unassigned, .reading: nil
        }
    }
}

extension AssignmentMachine.Phase {
    fileprivate var name: String {
        switch self {
        case .unassigned: "unassigned"
        case .locating: "locating"
        case .starting: "starting"
        case .reading: "reading"
        }
    }
}

extension PipelineError {
    /// An input that does not fit the phase of a worker's assignment or transaction.
    package static func misfit(_ input: String, while phase: String) -> PipelineError {
        .defect("a defect of the worker: \(input) while \(phase)")
    }
}
