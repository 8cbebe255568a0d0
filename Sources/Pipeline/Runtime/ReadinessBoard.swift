import Synchronization

/// Where every thread of a pipeline reports its state; with what its host knows, ``Readiness`` follows. Any thread.
final class ReadinessBoard: Sendable {
    enum WorkerState: CaseIterable {
        /// It waits for the group's assignment.
        case joining
        /// It has an assignment and finds out where to continue reading.
        case positioning
        /// It folds the state of its orders up to the committed offsets.
        case refolding
        /// It reads, or has no partition to read.
        case reading

        /// Why the pipeline is not ready while these workers are in this state; nil: it is.
        func reason(of workers: [Int]) -> Readiness.Reason? {
            switch self {
            case .joining: .noAssignment(workers: workers)
            case .positioning: .noPosition(workers: workers)
            case .refolding: .refolding(workers: workers)
            case .reading: nil
            }
        }
    }

    private struct State {
        var isStarted = false
        var isEnded = false
        var workers: [WorkerState]
        /// The batches that cannot be read and are not passed yet, by reader.
        var unreadable: [String: String] = [:]
    }

    private let state: Mutex<State>

    init(workers: Int) {
        state = Mutex(State(workers: Array(repeating: .joining, count: workers)))
    }

    /// The broker and the topics have answered, the threads start.
    func started() { state.withLock { $0.isStarted = true } }

    func ended() { state.withLock { $0.isEnded = true } }

    func set(_ workerState: WorkerState, worker: Int) { state.withLock { $0.workers[worker] = workerState } }

    /// A reader passes a batch that cannot be read; its position, or nil once it has passed it.
    func passes(_ position: String?, in reader: String) { state.withLock { $0.unreadable[reader] = position } }

    /// - Parameters:
    ///   - tableBehind: the reason that the table's gate gives, if it is closed.
    ///   - holds: the partitions that are held or wait for their turn.
    func readiness(
        _ host: RoleHost, tableBehind: Readiness.Reason?, holds: [Readiness.Reason] = []
    ) -> Readiness {
        let state = state.withLock { $0 }
        if state.isEnded { return Readiness(reasons: [.notRunning]) }
        if host.mustEnd { return Readiness(reasons: [.draining]) }
        var reasons = host.reasons
        guard state.isStarted else { return Readiness(reasons: reasons + [.starting]) }
        if let tableBehind { reasons.append(tableBehind) }
        reasons += holds + state.unreadable.values.sorted().map { .unreadable($0) }
        for workerState in WorkerState.allCases {
            let workers = state.workers.indices.filter { state.workers[$0] == workerState }
            if !workers.isEmpty, let reason = workerState.reason(of: workers) { reasons.append(reason) }
        }
        return Readiness(reasons: reasons)
    }
}

extension RoleHost {
    /// Why nothing of the role is ready.
    package var reasons: [Readiness.Reason] {
        let reasons: [Readiness.Reason?] = [
            health.away.map { .brokerAway($0) }, clock.isOff.map { .clockOff(seconds: $0) },
            health.clockIsAhead.map { .clockAhead(seconds: $0) },
        ]
        return reasons.compactMap(\.self)
    }
}
