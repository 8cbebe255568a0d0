import KafkaClient

/// Notices a consumer that no longer gets what its partitions hold (docs/kafka.md 11): nothing arrived for a minute
/// while there was something to read. The group does not notice, since polling counts as being alive.
package struct ConsumerWatch {
    private let limit: Duration
    private var quietSince: ContinuousClock.Instant
    /// The last stable offsets at the last look, where they were ahead of what has been reached.
    private var ahead: [TopicPartition: Int64] = [:]
    /// How many consumers were found stuck, one after the other, since records came or all was read.
    private var stuckInARow = 0

    package init(limit: Duration = .seconds(60), now: ContinuousClock.Instant = .now) {
        self.limit = limit
        quietSince = now
    }

    /// Whether a new consumer was stuck as well: another one does not help.
    package var isHopeless: Bool { stuckInARow > 1 }

    /// Something arrived, or it is unknown whether there is something to read: the quiet time begins again.
    ///
    /// - Parameter hasRecords: whether there were records. The end of a partition is no sign of health: a new consumer
    ///   reports the ends of partitions that nobody writes to.
    package mutating func progressed(hasRecords: Bool = false, now: ContinuousClock.Instant = .now) {
        quietSince = now
        ahead = [:]
        if hasRecords { stuckInARow = 0 }
    }

    /// Nothing was read since then: that time is not quiet. What was seen before counts on, or a stuck consumer would not be
    /// noticed whose partitions are located again and again.
    package mutating func resumed(after start: ContinuousClock.Instant, now: ContinuousClock.Instant) {
        quietSince += now - start
    }

    /// Whether it has been quiet for so long that the ends should be queried.
    package func isCheckDue(now: ContinuousClock.Instant = .now) -> Bool { now - quietSince >= limit }

    /// Compares the last stable offsets with what was reached. One that is ahead is only remembered at first, since the
    /// records may be in flight; after another quiet minute the consumer is stuck.
    package mutating func isStuck(
        ends: [TopicPartition: Int64], reached: (TopicPartition) -> Int64, now: ContinuousClock.Instant = .now
    ) -> Bool {
        let before = ahead
        ahead = ends.filter { $0.value > reached($0.key) }
        quietSince = now
        let isStuck = ahead.keys.contains { before[$0] != nil }
        if ahead.isEmpty { stuckInARow = 0 } else if isStuck { stuckInARow += 1 }
        return isStuck
    }
}
