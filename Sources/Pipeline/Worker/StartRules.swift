import Events
import KafkaClient

/// Where a group may start, and what only an operator can decide (docs/design.md §6, "Where a group starts").
enum StartRules {
    /// Reads the metadata of committed offsets.
    ///
    /// - Parameter now: the watermark to continue with where the metadata has none, in milliseconds since 1970.
    /// - Returns: what to start from, and the partitions that had no readable watermark.
    /// - Throws: where the topic's partition count has changed since: keys have moved, and timers of orders whose later
    ///   events are in other partitions would still be sent.
    static func check(
        _ starts: [SourcePartition: CommittedOffset], partitionCounts: [SourceKind: Int32],
        topics: PipelineConfiguration.Topics, now: Int64
    ) throws(PipelineError) -> (positions: [SourcePartition: CommittedPosition], reset: [SourcePartition]) {
        var positions: [SourcePartition: CommittedPosition] = [:]
        var reset: [SourcePartition] = []
        for (partition, start) in starts.sorted(by: { $0.key < $1.key }) {
            let partitionCount = partitionCounts[partition.source] ?? 0
            let found = OffsetMetadata(parsing: start.metadata)
            if found == nil { reset.append(partition) }
            let metadata =
                found ?? OffsetMetadata(watermark: TimerWatermark(now), partitions: partitionCount, newestTimestamp: 0)
            guard metadata.partitions == partitionCount else {
                let id = topics.topicPartition(of: partition)
                throw .decisionNeeded(
                    "\(id.topic) had \(metadata.partitions) partitions when \(id) was committed and has "
                        + "\(partitionCount) now, so keys have moved: see `carillon offsets set --accept-partitions`")
            }
            positions[partition] = CommittedPosition(offset: start.offset.value, metadata: metadata)
        }
        return (positions, reset)
    }

    /// The partitions of the orders whose committed watermark suppresses timers: by how many milliseconds it is ahead of the later of
    /// the clock and the newest record's time, where that is more than a minute.
    ///
    /// - Parameter now: milliseconds since 1970.
    static func aheadWatermarks(
        _ positions: [Int32: CommittedPosition], now: Int64
    ) -> [Int32: Int64] {
        positions
            .mapValues { lead(of: $0.metadata, now: now) }
            .filter { $0.value > toleratedLead }
    }

    /// By how many milliseconds a committed watermark is ahead of the later of the clock and the newest record's time.
    static func lead(of committed: OffsetMetadata, now: Int64) -> Int64 {
        committed.watermark.time - max(now, committed.newestTimestamp)
    }

    /// How far the clocks of machines may differ, in milliseconds.
    private static let toleratedLead: Int64 = 60_000

    static func noStart(_ partitions: [TopicPartition], group: String) -> PipelineError {
        .decisionNeeded(
            "group \(group) has no committed offset for \(partitions.sorted().map(\.description).joined(separator: ", "))"
                + ": say where to start with --from earliest|latest|<ISO time>")
    }

    static func rangeProblem(
        _ partition: TopicPartition, committed: Offset, first: Offset, end: Offset
    ) -> PipelineError? {
        if committed < first {
            return .decisionNeeded(
                "offset out of range: \(partition) is committed at \(committed), its log starts at \(first): "
                    + "\(first.value - committed.value) records are lost; see `carillon offsets set`")
        }
        if end < committed {
            return .decisionNeeded(
                "offset out of range: \(partition) is committed at \(committed), its log ends at \(end) "
                    + "(was the topic recreated?); see `carillon offsets set`")
        }
        return nil
    }
}

/// What the log has of some partitions.
struct LogBounds {
    /// The first offset that is still there.
    var first: [TopicPartition: Offset]
    /// The last stable offset.
    var end: [TopicPartition: Offset]
}
