import Synchronization

/// Notices a worker that hangs in a transaction call (docs/kafka.md 11): its group does not, since polling any queue
/// counts as being alive. Workers enter and leave; the supervision checks.
package final class WorkerWatch: Sendable {
    private let entered: Mutex<[ContinuousClock.Instant?]>

    package init(workers: Int) {
        entered = Mutex(Array(repeating: nil, count: workers))
    }

    package func enter(_ worker: Int) { entered.withLock { $0[worker] = .now } }

    package func leave(_ worker: Int) { entered.withLock { $0[worker] = nil } }

    /// The worker that has been in one call for longer than `limit`.
    package func hangs(longerThan limit: Duration) -> Int? {
        entered.withLock { entered in
            entered.firstIndex { $0.map { .now - $0 > limit } ?? false }
        }
    }
}
