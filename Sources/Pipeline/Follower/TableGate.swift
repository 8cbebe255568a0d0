import Synchronization

/// Tells the workers when the subscriptions table is fresh enough to fan out from (docs/code.md §6, "subscription
/// change").
///
/// A worker that is assigned partitions asks for a barrier and waits until the table has reached the ends that the
/// topic had then, so that it never fans out from less than another worker has seen. The moment at which the table
/// becomes too old is set in advance, so that a process that was suspended finds it so at once. Any thread may call it.
package final class TableGate: Sendable {
    private let requested = Atomic<Int>(0)
    private let passed = Atomic<Int>(0)
    private let epoch: ContinuousClock.Instant
    /// In milliseconds after the epoch.
    private let stale: Atomic<Int64>

    package init(freshFor duration: Duration, now: ContinuousClock.Instant = .now) {
        epoch = now
        stale = Atomic(duration.wholeMilliseconds)
    }

    /// Requests that the table reach the ends as they are after this call.
    ///
    /// - Returns: the barrier to wait for with ``isOpen(_:now:)``.
    package func requestBarrier() -> Int {
        requested.add(1, ordering: .sequentiallyConsistent).newValue
    }

    /// Whether a worker with this barrier may fan out now.
    package func isOpen(_ barrier: Int, now: ContinuousClock.Instant = .now) -> Bool {
        passed.load(ordering: .acquiring) >= barrier && !isLagging(now: now)
    }

    /// Whether the table was last known to be at the topic's end more than `subscriptions.max-lag` ago.
    package func isLagging(now: ContinuousClock.Instant = .now) -> Bool {
        (now - epoch).wholeMilliseconds > stale.load(ordering: .acquiring)
    }

    /// The newest barrier that was requested: read it before querying the ends.
    package var newestRequest: Int { requested.load(ordering: .sequentiallyConsistent) }

    /// The table has reached ends that were queried after this barrier was requested.
    package func pass(_ barrier: Int) {
        passed.store(barrier, ordering: .releasing)
    }

    /// Sets the moment from which on the table is too old.
    package func setStale(from time: ContinuousClock.Instant) {
        stale.store((time - epoch).wholeMilliseconds, ordering: .releasing)
    }

    /// Pauses fan-out until ``setStale(from:)`` is called again.
    package func close() { stale.store(.min, ordering: .releasing) }

    /// Whether somebody waits for a barrier.
    package var isAwaited: Bool { passed.load(ordering: .acquiring) < newestRequest }
}
