import KafkaClient
import Synchronization

/// How long a role waits for its environment.
///
/// It waits for an unreachable broker without limit. What an operator has to fix (a missing topic, a refused login, a
/// refused ACL) ends it after 30 s if it has not committed anything yet; later it waits for that too. Shared by the workers
/// of a role, so that one without partitions, which never commits, does not end what the others do.
package final class Patience: Sendable {
    private struct State {
        var hasWorked = false
        /// Refusals of one cause: they follow each other.
        var refusals: (first: ContinuousClock.Instant, last: ContinuousClock.Instant)?
        var lastLine: [String: ContinuousClock.Instant] = [:]
    }

    private let state = Mutex(State())
    private let grace: Duration
    /// After so long without a refusal the next one is the first.
    private static let memory = Duration.seconds(600)

    package init(grace: Duration = .seconds(30)) {
        self.grace = grace
    }

    /// Something was committed: from now on the role waits for everything.
    package func hasWorked() {
        state.withLock { state in
            state.hasWorked = true
            state.refusals = nil
        }
    }

    /// Nothing has been committed yet.
    package var isStarting: Bool { state.withLock { !$0.hasWorked } }

    /// Takes an error of the environment.
    ///
    /// - Returns: whether to log it now: each kind once in 10 s.
    /// - Throws: the error that ends the role, once the grace period is over.
    package func consider(_ error: KafkaError, now: ContinuousClock.Instant = .now) throws(PipelineError) -> Bool {
        if error.kind == .configuration { throw .decisionNeeded(error.description) }
        let (isOver, isDue) = state.withLock { state in
            var isOver = false
            if error.needsAPerson, !state.hasWorked {
                if let last = state.refusals?.last, now - last >= Self.memory { state.refusals = nil }
                let first = state.refusals?.first ?? now
                state.refusals = (first, now)
                isOver = now - first >= grace
            }
            let key = "\(error.kind)"
            let isDue = state.lastLine[key].map { now - $0 >= .seconds(10) } ?? true
            if isDue { state.lastLine[key] = now }
            return (isOver, isDue)
        }
        guard isOver else { return isDue }
        if error.kind.traits.remedy == .permission { throw .notAuthorized(error.description) }
        throw .decisionNeeded(error.description)
    }

    /// Whether a line of this kind is due, once in this time.
    package func isDue(
        _ key: String, every time: Duration = .seconds(10), now: ContinuousClock.Instant = .now
    ) -> Bool {
        state.withLock { state in
            if let last = state.lastLine[key], now - last < time { return false }
            state.lastLine[key] = now
            return true
        }
    }
}
