import Synchronization

/// Whether a role's broker answers and agrees with its clock, and its consumers get what there is: its threads report, and
/// readiness and liveness follow. Any thread.
package final class HealthBoard: Sendable {
    private struct State {
        /// Why no broker answers, by who found that.
        var away: [String: String] = [:]
        /// By how many seconds the clock is ahead of the broker's, by who has compared them.
        var clockIsAhead: [String: Int64] = [:]
        /// Whose consumers get nothing, and whose new ones get nothing either.
        var stuck: Set<String> = []
        /// The newest line of status.
        var status: String?
    }

    private let state = Mutex(State())

    package init() {}

    /// What `name` has asked for last was not answered by any broker; why, or nil once one has answered.
    package func brokersAreDown(_ why: String?, of name: String) { state.withLock { $0.away[name] = why } }

    /// The same of what is retried until it works: at the start, and for a new producer.
    func waitUnanswered(_ why: String?) { brokersAreDown(why, of: "") }

    /// A query that goes to the leaders of a whole topic was answered: every worker reaches them.
    package func topicAnswers() { state.withLock { state in state.away = state.away.filter { $0.key.isEmpty } } }

    /// By how many seconds the clock is ahead of the broker's, as `name` has found; nil: they agree.
    func clockIsAhead(_ seconds: Int64?, of name: String) { state.withLock { $0.clockIsAhead[name] = seconds } }

    /// Whether the consumer of `name` gets nothing although there is something to read, and neither did the one before it.
    package func consumerIsHopeless(_ isHopeless: Bool, of name: String) {
        state.withLock { state in
            if isHopeless { state.stuck.insert(name) } else { state.stuck.remove(name) }
        }
    }

    /// The role has logged this line of status.
    func says(_ status: String) { state.withLock { $0.status = status } }

    /// The role has ended.
    func clear() { state.withLock { $0 = State() } }

    package var away: String? { state.withLock { $0.away.min { $0.key < $1.key }?.value } }

    package var status: String? { state.withLock { $0.status } }

    package var clockIsAhead: Int64? {
        state.withLock { $0.clockIsAhead.min { $0.key < $1.key }?.value }
    }

    package var liveness: Liveness { Liveness(stuck: state.withLock { $0.stuck.sorted() }) }
}
