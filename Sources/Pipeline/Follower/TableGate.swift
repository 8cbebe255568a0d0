import Events
import FanOut
import Synchronization

/// Tells the workers when the subscriptions table is fresh enough to fan out from (design §6, "subscription change").
///
/// A worker that is assigned partitions asks for a barrier and waits until the table has reached the ends that the
/// topic had then, so that what another worker has seen is never unseen. A table is fresh until a moment that is said in
/// advance, so that a process that stood still finds it too old at once. Any thread may call it.
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

    /// Asks for the table to reach the ends as they are after this call.
    package func requestBarrier() -> Int {
        requested.add(1, ordering: .sequentiallyConsistent).newValue
    }

    /// Whether a worker with this barrier may fan out now.
    package func isOpen(_ barrier: Int, now: ContinuousClock.Instant = .now) -> Bool {
        passed.load(ordering: .acquiring) >= barrier && !isLagging(now: now)
    }

    /// Whether the table has not been known to stand at the end for longer than `subscriptions.max-lag`.
    package func isLagging(now: ContinuousClock.Instant = .now) -> Bool {
        (now - epoch).wholeMilliseconds > stale.load(ordering: .acquiring)
    }

    /// The newest barrier that somebody asked for: read it before the ends are asked for.
    package var newestRequest: Int { requested.load(ordering: .sequentiallyConsistent) }

    /// The table has reached the ends that were asked for after this barrier had been requested.
    package func pass(_ barrier: Int) {
        passed.store(barrier, ordering: .releasing)
    }

    /// The table is too old from then on.
    package func setStale(from time: ContinuousClock.Instant) {
        stale.store((time - epoch).wholeMilliseconds, ordering: .releasing)
    }

    /// Nobody fans out before ``setStale(from:)`` is called again.
    package func close() { stale.store(.min, ordering: .releasing) }

    /// Whether somebody waits for a barrier.
    package var isAwaited: Bool { passed.load(ordering: .acquiring) < newestRequest }
}
