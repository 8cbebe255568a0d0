import Synchronization

/// The log's lines about dead letters: the first at once, and then at most one in 10 s, with how many there were since. Any
/// thread.
package final class DeadLetterLog: Sendable {
    private let patience: Patience
    private let topic: String
    private let untold = Atomic<Int>(0)

    /// - Parameter topic: where dead letters are written.
    package init(_ patience: Patience, topic: String) {
        self.patience = patience
        self.topic = topic
    }

    /// A transaction with so many dead letters was committed.
    ///
    /// - Parameter first: the first of them; nil if there are none.
    package func committed(
        _ count: Int, first: DeadLetterPosition?, _ logger: Logger, now: ContinuousClock.Instant = .now
    ) {
        guard let first else { return }
        untold.add(count, ordering: .relaxed)
        guard patience.isDue("dead-letters", now: now) else { return }
        logger.warning(
            "records cannot be processed and are dead letters: \(topic) has them, and why",
            [
                "count": "\(untold.exchange(0, ordering: .relaxed))", "code": first.code.label,
                "record": "\(first.topic)/\(first.partition)/\(first.offset)",
            ])
    }
}
