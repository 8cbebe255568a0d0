import Synchronization

/// Tells the workers when the subscriptions table is fresh enough to fan out from (docs/code.md §6, "subscription
/// change").
///
/// A worker that is assigned partitions asks for a barrier and waits until the table has reached the ends that the
/// topic had then, so that it never fans out from less than another worker has seen. The moment at which the table
/// becomes too old is set in advance, so that a process that was suspended finds it so at once. Any thread may call it.
package final class TableGate: Sendable {
    private let ends = Barrier()
    /// Until the table has everything that was written before a request, also what a transaction has written whose end is
    /// not in every partition yet: beyond the ends as a reader of committed records sees them.
    package let writes = Barrier()
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
    package func requestBarrier() -> Int { ends.request() }

    /// Whether a worker with this barrier may fan out now.
    package func isOpen(_ barrier: Int, now: ContinuousClock.Instant = .now) -> Bool {
        ends.isPassed(barrier) && !isLagging(now: now)
    }

    /// Whether the table was last known to be at the topic's end more than `subscriptions.max-lag` ago.
    package func isLagging(now: ContinuousClock.Instant = .now) -> Bool {
        (now - epoch).wholeMilliseconds > stale.load(ordering: .acquiring)
    }

    /// The newest barrier that was requested: read it before querying the ends.
    package var newestRequest: Int { ends.newest }

    /// The table has reached ends that were queried after this barrier was requested.
    package func pass(_ barrier: Int) { ends.pass(barrier) }

    /// Nobody waits, now or later: there is no table.
    package func passAll() {
        ends.pass(.max)
        writes.pass(.max)
    }

    /// Sets the moment from which on the table is too old.
    package func setStale(from time: ContinuousClock.Instant) {
        stale.store((time - epoch).wholeMilliseconds, ordering: .releasing)
    }

    /// Pauses fan-out until ``setStale(from:)`` is called again.
    package func close() { stale.store(.min, ordering: .releasing) }

    /// Whether somebody waits for a barrier.
    package var isAwaited: Bool { ends.isAwaited }
}
