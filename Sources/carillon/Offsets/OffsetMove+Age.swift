import KafkaClient
import Pipeline

/// A move back by more than `state.horizon`. The clock of a partition is its newest timestamp, which a move does not
/// set back (ADR 23), so the state that such events set expires at once.
extension OffsetMove {
    /// For each partition that moves back, the time from which on events are remembered: the horizon before the newest
    /// timestamp.
    ///
    /// - Parameter horizon: `state.horizon`.
    func rememberedFrom(horizon: Duration) -> [TopicPartition: WallTime] {
        var times: [TopicPartition: WallTime] = [:]
        for step in steps where step.again > 0 && step.metadata.newestTimestamp > .epoch {
            let time = step.metadata.newestTimestamp - horizon.wholeMilliseconds
            if time > .epoch { times[step.position.id] = time }
        }
        return times
    }

    /// The consequences, for a person; empty if no partition moves back that far.
    ///
    /// - Parameter firsts: the first offset at or after ``rememberedFrom(horizon:)``.
    func ageText(horizon: Duration, firsts: [TopicPartition: Offset]) -> String {
        let times = rememberedFrom(horizon: horizon)
        var text = ""
        for step in steps {
            guard let time = times[step.position.id], let first = firsts[step.position.id],
                let committed = step.position.committed?.offset, step.target < first
            else { continue }
            text +=
                "\(step.position.id): offsets \(step.target) to \(min(first, committed).value - 1), from before "
                + "\(time.iso8601), are more than state.horizon behind the partition's clock, which stays at "
                + "\(step.metadata.newestTimestamp.iso8601).\n"
        }
        guard !text.isEmpty else { return "" }
        return text
            + "Nothing is remembered of the orders of such events: one that is in the log twice is sent twice, a status change "
            + "is sent without the status before it, even where that is the same, and an event without a type notifies nobody. "
            + "No timer is sent again.\n"
    }
}
