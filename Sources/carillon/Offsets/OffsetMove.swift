import KafkaClient
import Pipeline

/// What `offsets set` would commit, and the consequences for the events (docs/code.md §6 "Where a group starts").
///
/// Pure: takes positions, targets and the time; returns commits or problems.
struct OffsetMove {
    struct Step {
        var position: GroupPositions.Partition
        var target: Offset
        var metadata: OffsetMetadata

        /// Offsets that are processed again; an upper bound of events, since control records take offsets, too.
        var again: Int64 { position.committed.map { max(0, $0.offset.value - target.value) } ?? 0 }
        /// Offsets that are skipped.
        var skipped: Int64 { position.committed.map { max(0, target.value - $0.offset.value) } ?? 0 }
        /// Timers between the two watermarks are never sent.
        var passesTimers: Bool { position.metadata.map { $0.watermark < metadata.watermark } ?? false }
        /// Timers between the two watermarks are sent, even if they were sent before.
        var repeatsTimers: Bool { position.metadata.map { metadata.watermark < $0.watermark } ?? false }
    }

    var steps: [Step]
    /// Why the move is refused, one line each.
    var problems: [String]

    var again: Int64 { steps.reduce(0) { $0 + $1.again } }
    var skipped: Int64 { steps.reduce(0) { $0 + $1.skipped } }

    /// - Parameters:
    ///   - targets: the new offset of each partition that moves; missing partitions keep theirs.
    ///   - watermarks: the new watermark of each partition that gets one.
    ///   - acceptPartitions: the number of partitions was changed on purpose: partitions without a commit start
    ///     at their beginning, every commit gets the new number, and no earlier timer fires.
    init(
        _ positions: GroupPositions, targets: [TopicPartition: Offset], watermarks: [TopicPartition: WallTime] = [:],
        acceptPartitions: Bool, mayResend: Bool, mayRepeatTimers: Bool = false, now: WallTime
    ) {
        let count = Int32(positions.partitions.count)
        steps = []
        problems = []
        for position in positions.partitions {
            let found = position.metadata
            if let found, found.partitions != count, !acceptPartitions {
                problems.append(
                    "\(position.id): was committed with \(found.partitions) partitions, the topic has \(count) now; "
                        + "give --accept-partitions if that was on purpose")
            }
            let beginning = acceptPartitions && position.committed == nil ? position.start : nil
            let given = watermarks[position.id].map { TimerWatermark($0) }
            let stay = acceptPartitions || given != nil ? position.committed?.offset : nil
            if given != nil, position.committed == nil, targets[position.id] == nil {
                problems.append("\(position.id): has no committed offset; give --to as well")
            }
            guard let target = targets[position.id] ?? beginning ?? stay else { continue }
            guard (position.start...max(position.start, position.end)).contains(target) else {
                problems.append(
                    "\(position.id): offset \(target) is not in the log, which goes from \(position.start) to \(position.end)"
                )
                continue
            }
            steps.append(
                Step(
                    position: position, target: target,
                    metadata: OffsetMetadata(
                        watermark: given ?? (acceptPartitions ? nil : found?.watermark) ?? TimerWatermark(now),
                        partitions: count,
                        newestTimestamp: found?.newestTimestamp ?? .epoch)))
        }
        if again > 0 && !mayResend {
            problems.append("up to \(again) events would be sent again; give --resend if that is what you want")
        }
        if let latest = watermarks.values.max(), latest > now {
            problems.append(
                "the watermark \(latest.iso8601) is ahead of the clock: no timer would be sent until then")
        }
        if !mayRepeatTimers, steps.contains(where: \.repeatsTimers) {
            problems.append("timers would be sent again; give --repeat-timers if that is what you want")
        }
    }

    /// The offsets to commit.
    var commits: [TopicPartition: CommittedOffset] {
        Dictionary(
            steps.map { ($0.position.id, CommittedOffset(offset: $0.target, metadata: $0.metadata.text)) }
        ) { first, _ in first }
    }

    /// The plan for a person.
    var text: String {
        var table = TextTable([
            "PARTITION", "COMMITTED", "NEW", "SENT AGAIN", "SKIPPED", "WATERMARK", "NEW WATERMARK",
        ])
        for step in steps {
            table.append([
                "\(step.position.id)", step.position.committed.map { "\($0.offset)" } ?? "-", "\(step.target)",
                "\(step.again)", "\(step.skipped)", step.position.metadata?.watermark.text ?? "-",
                step.metadata.watermark.text,
            ])
        }
        return table.text + timerText + "Up to \(again) events are sent again, up to \(skipped) are skipped.\n"
    }

    /// The consequences of the watermarks that move.
    private var timerText: String {
        let passing = steps.count(where: \.passesTimers)
        let repeating = steps.count(where: \.repeatsTimers)
        var text = ""
        if passing > 0 {
            text +=
                "Partitions whose watermark moves forward: \(passing); timers that are due in between are never sent.\n"
        }
        if repeating > 0 {
            text +=
                "Partitions whose watermark moves back: \(repeating); timers that are due in between are sent, even those "
                + "that were sent before. Only those later than schedule.max-lateness are not.\n"
        }
        return text
    }
}
