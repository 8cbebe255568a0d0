import KafkaClient

/// Where a group may start, and what only an operator can decide (docs/code.md §6, "Where a group starts").
enum StartRules {
    /// Reads the metadata of committed offsets.
    ///
    /// - Parameter now: the watermark to continue with where the metadata has none.
    /// - Returns: what to start from, and the partitions of the orders that had no readable watermark.
    /// - Throws: where the orders' partition count has changed since: keys have moved, and timers of orders whose later
    ///   events are in other partitions would still be sent. Requests have no timers, and take the new count.
    static func check(
        _ starts: [SourcePartition: CommittedOffset], partitionCounts: [SourceKind: Int32],
        topics: PipelineConfiguration.Topics, now: WallTime
    ) throws(PipelineError) -> (positions: [SourcePartition: CommittedPosition], reset: [SourcePartition]) {
        var positions: [SourcePartition: CommittedPosition] = [:]
        var reset: [SourcePartition] = []
        for (partition, start) in starts.sorted(by: { $0.key < $1.key }) {
            let partitionCount = partitionCounts[partition.source] ?? 0
            let found = OffsetMetadata(parsing: start.metadata)
            var metadata: OffsetMetadata
            switch partition.source {
            case .orders:
                if found == nil { reset.append(partition) }
                metadata = found ?? self.metadata(of: .orders, partitionCount: partitionCount, now: now)
                guard metadata.partitions == partitionCount else {
                    let id = topics.topicPartition(of: partition)
                    throw .decisionNeeded(
                        "\(id.topic) had \(metadata.partitions) partitions when \(id) was committed and has "
                            + "\(partitionCount) now, so keys have moved: see `carillon offsets set --accept-partitions`"
                    )
                }
            case .requests:
                metadata = found ?? self.metadata(of: .requests, partitionCount: partitionCount, now: now)
            }
            metadata.newestTimestamp = min(metadata.newestTimestamp, RecordTime.latest(at: now))
            positions[partition] = CommittedPosition(offset: start.offset.value, metadata: metadata)
        }
        return (positions, reset)
    }

    /// The metadata of a partition that begins now.
    static func metadata(of source: SourceKind, partitionCount: Int32, now: WallTime) -> OffsetMetadata {
        let watermark: TimerWatermark
        switch source {
        case .orders: watermark = TimerWatermark(now)
        // There are no timers.
        case .requests: watermark = TimerWatermark(.epoch)
        }
        return OffsetMetadata(watermark: watermark, partitions: partitionCount, newestTimestamp: .epoch)
    }

    /// Where partitions of a source begin that have no committed offset; nil: an operator has to say it.
    static func start(of source: SourceKind, _ configuration: PipelineConfiguration, now: WallTime) -> StartPosition? {
        switch source {
        case .orders: configuration.from
        case .requests:
            configuration.from ?? .time(now - configuration.requestsFrom.wholeMilliseconds)
        }
    }

    /// A topic that has another number of partitions than when it was last committed, if that stops nothing.
    ///
    /// - Returns: a line for each such source.
    static func changedCounts(
        _ positions: [SourcePartition: CommittedPosition], partitionCounts: [SourceKind: Int32],
        topics: PipelineConfiguration.Topics
    ) -> [String] {
        var counts: [SourceKind: Int32] = [:]
        for (partition, position) in positions where position.metadata.partitions != partitionCounts[partition.source] {
            counts[partition.source] = position.metadata.partitions
        }
        return counts.sorted { $0.key.rawValue < $1.key.rawValue }.map { source, before in
            "\(topics.topic(of: source)) had \(before) partitions and has \(partitionCounts[source] ?? 0) now: requests of one "
                + "key may overtake each other once"
        }
    }

    typealias StartPosition = PipelineConfiguration.StartPosition

    /// The partitions of the orders whose committed watermark suppresses timers: by how many milliseconds it is ahead of the later of
    /// the clock and the newest record's time, where that is more than a minute.
    static func aheadWatermarks(
        _ positions: [Int32: CommittedPosition], now: WallTime
    ) -> [Int32: Int64] {
        positions
            .mapValues { lead(of: $0.metadata, now: now) }
            .filter { $0.value > toleratedLead }
    }

    /// By how many milliseconds a committed watermark is ahead of the later of the clock and the newest record's time.
    static func lead(of committed: OffsetMetadata, now: WallTime) -> Int64 {
        committed.watermark.time - max(now, committed.newestTimestamp)
    }

    /// How far the clocks of machines may differ, in milliseconds.
    private static let toleratedLead: Int64 = 60_000

    static func noStart(_ partitions: [TopicPartition], group: String) -> PipelineError {
        .decisionNeeded(
            "group \(group) has no committed offset for \(partitions.sorted().map(\.description).joined(separator: ", "))"
                + ": say where to start with --from earliest, latest or a time, such as -1h")
    }

    /// Why a partition of requests begins as one without a committed offset; nil where its offset is in the log. What
    /// retention has removed cannot be asked for again, and nothing else depends on it.
    static func lostRequests(
        _ partition: TopicPartition, committed: Offset, first: Offset, end: Offset
    ) -> String? {
        if committed < first {
            return "\(partition) is committed at \(committed), its log starts at \(first): "
                + "\(first.value - committed.value) requests are lost"
        }
        if end < committed {
            return
                "\(partition) is committed at \(committed), its log ends at \(end): the topic was deleted and created again"
        }
        return nil
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

    /// Whether the log is known to have nothing: `earliest` and `latest` are the same offset.
    func isEmpty(_ partition: TopicPartition) -> Bool {
        first[partition].map { $0 == end[partition] } ?? false
    }
}
