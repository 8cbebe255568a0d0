import Synchronization

/// Tells the workers when the subscriptions table is fresh enough to fan out from (design §6, "subscription change").
///
/// A worker that is assigned partitions asks for a barrier and waits until the table has reached the ends that the
/// topic had then, so that what another worker has seen is never unseen. Any thread may call it.
package final class TableGate: Sendable {
    private let requested = Atomic<Int>(0)
    private let passed = Atomic<Int>(0)
    private let lags = Atomic<Bool>(false)

    package init() {}

    /// Asks for the table to reach the ends as they are after this call.
    package func requestBarrier() -> Int {
        requested.add(1, ordering: .sequentiallyConsistent).newValue
    }

    /// Whether a worker with this barrier may fan out now.
    package func isOpen(_ barrier: Int) -> Bool {
        passed.load(ordering: .acquiring) >= barrier && !lags.load(ordering: .acquiring)
    }

    /// Whether the table has not stood at the end for longer than `subscriptions.max-lag`.
    package var isLagging: Bool { lags.load(ordering: .acquiring) }

    /// The newest barrier that somebody asked for: read it before the ends are asked for.
    package var newestRequest: Int { requested.load(ordering: .sequentiallyConsistent) }

    /// The table has reached the ends that were asked for after this barrier had been requested.
    package func pass(_ barrier: Int) {
        passed.store(barrier, ordering: .releasing)
    }

    package func setLagging(_ isLagging: Bool) {
        lags.store(isLagging, ordering: .releasing)
    }

    /// Whether somebody waits for a barrier.
    package var isAwaited: Bool { passed.load(ordering: .acquiring) < newestRequest }
}
