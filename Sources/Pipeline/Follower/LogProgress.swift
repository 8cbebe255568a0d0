import KafkaClient

/// How far the partitions of a topic were read, and since when that is known to be all of them. No I/O and no clock.
struct LogProgress {
    /// The next offset of each partition of which something was read, be it only its end.
    private(set) var reached: [TopicPartition: Int64] = [:]
    /// When the newest ends that were reached were asked for; nil before the first ones.
    private(set) var freshSince: ContinuousClock.Instant?
    /// The ends that are to be reached, and when they were asked for.
    private var asked: (ends: [TopicPartition: Int64], at: ContinuousClock.Instant)?

    /// Everything below the offset was taken.
    mutating func reach(_ partition: TopicPartition, _ offset: Int64) {
        reached[partition] = max(reached[partition] ?? 0, offset)
    }

    /// Notes whether the ends that were asked for are reached.
    mutating func look() {
        guard let asked, asked.ends.allSatisfy({ reached[$0.key, default: -1] >= $0.value }) else { return }
        freshSince = asked.at
        self.asked = nil
    }

    /// The ends of all partitions, and when they were asked for. Those that are not reached yet stay the ones to reach: of a
    /// topic that grows all the time newer ones would never be.
    ///
    /// - Returns: false if a log ends before what is known of it: it was cut or created again.
    mutating func ends(_ ends: [TopicPartition: Int64], askedAt time: ContinuousClock.Instant) -> Bool {
        guard ends.allSatisfy({ $0.value >= max(reached[$0.key] ?? 0, asked?.ends[$0.key] ?? 0) }) else { return false }
        if asked == nil { asked = (ends, time) }
        look()
        return true
    }
}
