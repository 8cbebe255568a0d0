import Synchronization

/// Notices a thread that hangs in a transaction call (docs/kafka.md 11): its group does not, since polling any queue counts
/// as being alive. Threads enter and leave; the supervision checks.
package final class CallWatch: Sendable {
    private let entered = Mutex<[String: ContinuousClock.Instant]>([:])

    package init() {}

    package func enter(_ name: String, now: ContinuousClock.Instant = .now) { entered.withLock { $0[name] = now } }

    package func leave(_ name: String) { entered.withLock { $0[name] = nil } }

    /// Who has been in one call for longer than `limit`.
    package func hangs(longerThan limit: Duration, now: ContinuousClock.Instant = .now) -> String? {
        entered.withLock { entered in entered.filter { now - $0.value > limit }.keys.min() }
    }
}
