import Synchronization

/// Where every thread of a pipeline reports its state; ``Readiness`` and ``Liveness`` follow from it. Any thread.
///
/// The broker counts as unreachable by the latest report: the table's follower queries it every second, and a worker is
/// notified when all its connections are down. Since the follower's query goes to the leaders of a whole topic, its answer
/// clears every worker's report.
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
        /// The workers whose latest report is that no broker answers, and the error.
        var unanswered: [Int: String] = [:]
        var unansweredFollower: String?
        var unansweredWait: String?
        /// By how many seconds the wall clock is off.
        var clockIsOff: Int64?
        /// The batches that cannot be read and are not passed yet, by reader.
        var unreadable: [String: String] = [:]
        /// Whose consumers get nothing, and whose new ones get nothing either.
        var hopeless: Set<String> = []
    }

    private let state: Mutex<State>

    init(workers: Int) {
        state = Mutex(State(workers: Array(repeating: .joining, count: workers)))
    }

    /// The broker and the topics have answered, the threads start.
    func started() { state.withLock { $0.isStarted = true } }

    func ended() { state.withLock { $0.isEnded = true } }

    func set(_ workerState: WorkerState, worker: Int) { state.withLock { $0.workers[worker] = workerState } }

    /// What is retried until it works (at the start, and for a new producer) has failed; why, or nil once it worked.
    func waitUnanswered(_ why: String?) { state.withLock { $0.unansweredWait = why } }

    /// A worker's connections are all down; why, or nil once one is up or a transaction was committed.
    func brokersAreDown(_ why: String?, worker: Int) { state.withLock { $0.unanswered[worker] = why } }

    /// The follower's query for the topic's ends was not answered; why, or nil when it was.
    func followerUnanswered(_ why: String?) {
        state.withLock { state in
            state.unansweredFollower = why
            if why == nil { state.unanswered = [:] }
        }
    }

    /// Whether a consumer got nothing although there was something to read, and neither did the one that replaced it.
    func consumerIsHopeless(_ isHopeless: Bool, of name: String) {
        state.withLock { state in
            if isHopeless { state.hopeless.insert(name) } else { state.hopeless.remove(name) }
        }
    }

    var liveness: Liveness { Liveness(stuck: state.withLock { $0.isEnded ? [] : $0.hopeless.sorted() }) }

    /// The wall clock has been set, by so many seconds; nil: it has not.
    func clockIsOff(_ seconds: Int64?) { state.withLock { $0.clockIsOff = seconds } }

    /// A reader passes a batch that cannot be read; its place, or nil once it has passed it.
    func passes(_ place: String?, in reader: String) { state.withLock { $0.unreadable[reader] = place } }

    /// - Parameters:
    ///   - tableBehind: the reason that the table's gate gives, if it is closed.
    ///   - holds: the partitions that are held or wait for their turn.
    func readiness(
        isDraining: Bool, tableBehind: Readiness.Reason?, holds: [Readiness.Reason] = []
    ) -> Readiness {
        let state = state.withLock { $0 }
        if state.isEnded { return Readiness(reasons: [.notRunning]) }
        if isDraining { return Readiness(reasons: [.draining]) }
        let away = state.unansweredWait ?? state.unansweredFollower ?? state.unanswered.min { $0.key < $1.key }?.value
        var reasons = away.map { [Readiness.Reason.brokerAway($0)] } ?? []
        guard state.isStarted else { return Readiness(reasons: reasons + [.starting]) }
        if let seconds = state.clockIsOff { reasons.append(.clockOff(seconds: seconds)) }
        if let tableBehind { reasons.append(tableBehind) }
        reasons += holds + state.unreadable.values.sorted().map { .unreadable($0) }
        for workerState in WorkerState.allCases {
            let workers = state.workers.indices.filter { state.workers[$0] == workerState }
            if !workers.isEmpty, let reason = workerState.reason(of: workers) { reasons.append(reason) }
        }
        return Readiness(reasons: reasons)
    }
}
