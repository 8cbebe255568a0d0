/// Notices a consumer that no longer gets what its partitions hold (kafka-rules 11): nothing arrived for a minute while
/// there was something to read. The group does not notice, since polling counts as being alive.
struct ConsumerWatch {
    static let limit = Duration.seconds(60)
    private var quietSince: ContinuousClock.Instant
    /// The last stable offsets at the last look, where they were ahead of what has been reached.
    private var ahead: [Int32: Int64] = [:]

    init(now: ContinuousClock.Instant = .now) {
        quietSince = now
    }

    /// Something arrived: records or the end of a partition.
    mutating func progressed(now: ContinuousClock.Instant = .now) {
        quietSince = now
        ahead = [:]
    }

    /// Whether it has been quiet for so long that the ends are worth a question.
    func isCheckDue(now: ContinuousClock.Instant = .now) -> Bool { now - quietSince >= Self.limit }

    /// Looks at the last stable offsets. The first time that one is ahead of what was reached is only remembered, for
    /// the records may be on their way; after another quiet minute the consumer is stuck.
    mutating func isStuck(
        ends: [Int32: Int64], reached: (Int32) -> Int64, now: ContinuousClock.Instant = .now
    ) -> Bool {
        let before = ahead
        ahead = ends.filter { $0.value > reached($0.key) }
        quietSince = now
        return ahead.keys.contains { before[$0] != nil }
    }
}

/// Notices a transaction that a producer upstream left open: what comes behind it cannot be read (kafka-rules 19).
struct HungTransactionWatch {
    private struct Stand {
        var lastStable: Int64
        var since: ContinuousClock.Instant
    }

    private var stands: [Int32: Stand] = [:]
    /// The partitions that have stood behind the watermark for a minute or more.
    private(set) var hung: Set<Int32> = []

    /// Takes a partition's last stable offset and its high watermark.
    ///
    /// - Returns: whether it has stood behind the watermark for a minute; said once in a minute.
    mutating func observe(
        partition: Int32, lastStable: Int64, highWatermark: Int64, now: ContinuousClock.Instant = .now
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
