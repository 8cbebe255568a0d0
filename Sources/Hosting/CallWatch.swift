import Synchronization

/// Who is in a transaction call, and since when: a thread that hangs there (docs/kafka.md 11) is not noticed by its group,
/// since polling any queue counts as being alive. Threads enter and leave; the supervision looks.
package final class CallWatch: Sendable {
    private let entered = Mutex<[String: ContinuousClock.Instant]>([:])

    package init() {}

    package func enter(_ name: String, now: ContinuousClock.Instant = .now) { entered.withLock { $0[name] = now } }

    package func leave(_ name: String) { entered.withLock { $0[name] = nil } }

    var open: [String: ContinuousClock.Instant] { entered.withLock { $0 } }
}

/// Tells a call that hangs from one that waits for an absent broker: while a call takes long a broker is asked again and
/// again, and the time of all calls begins anew with each question that none answers.
struct HangWatch {
    /// After so long in a call a broker is asked, and after so long again.
    static let interval = Duration.seconds(5)

    private let limit: Duration
    /// When the newest question was asked; nil while no call takes long.
    private(set) var asked: ContinuousClock.Instant?
    /// When the newest question was asked that no broker has answered.
    private var unanswered: ContinuousClock.Instant?

    /// - Parameter limit: a call that takes longer hangs.
    init(limit: Duration) {
        self.limit = limit
    }

    /// Whether to ask now whether a broker answers.
    ///
    /// - Parameter calls: since when who is in a call.
    mutating func mustAsk(_ calls: [String: ContinuousClock.Instant], now: ContinuousClock.Instant) -> Bool {
        guard let first = calls.values.min(), now - first > Self.interval else {
            asked = nil
            return false
        }
        if let asked, now - asked < Self.interval { return false }
        asked = now
        return true
    }

    /// Takes the answer to a question that was asked `now`.
    ///
    /// - Returns: who hangs, if anybody.
    mutating func hears(
        _ isAnswered: Bool, _ calls: [String: ContinuousClock.Instant], now: ContinuousClock.Instant
    ) -> String? {
        guard isAnswered else {
            unanswered = now
            return nil
        }
        return calls.filter { now - max($0.value, unanswered ?? $0.value) > limit }.keys.min()
    }
}
