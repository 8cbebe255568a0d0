import KafkaClient

/// Notices a transaction that a producer upstream left open: what comes after it cannot be read (docs/kafka.md 19).
package struct HungTransactionWatch {
    private struct Stand {
        var lastStable: Int64
        var since: ContinuousClock.Instant
    }

    private var stands: [TopicPartition: Stand] = [:]
    /// The partitions whose last stable offset has been stuck below the high watermark for a minute or more.
    package private(set) var hung: Set<TopicPartition> = []

    package init() {}

    /// Takes a partition's last stable offset and its high watermark.
    ///
    /// - Returns: whether the offset has been stuck below the watermark for a minute; true at most once a minute.
    package mutating func observe(
        partition: TopicPartition, lastStable: Int64, highWatermark: Int64, now: ContinuousClock.Instant = .now
    ) -> Bool {
        guard lastStable < highWatermark else {
            stands[partition] = nil
            hung.remove(partition)
            return false
        }
        guard let stand = stands[partition], stand.lastStable == lastStable else {
            stands[partition] = Stand(lastStable: lastStable, since: now)
            hung.remove(partition)
            return false
        }
        guard now - stand.since >= .seconds(60) else { return false }
        stands[partition]?.since = now
        hung.insert(partition)
        return true
    }
}
