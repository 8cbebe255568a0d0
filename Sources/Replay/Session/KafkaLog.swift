import KafkaClient

/// Reads the topics that a replay needs, committed records only. One owner, one thread.
package struct KafkaLog: ~Copyable {
    let configuration: PipelineConfiguration
    private let sink: ClientLog.Sink
    /// Called between two batches; true ends the reading with ``ReplayStopped``.
    private let isStopped: @Sendable () -> Bool
    private let limit: ReadLimit?
    private var asker: Consumer
    /// How long a broker may take to answer.
    private let patience: Duration

    package init(_ context: ReplayContext) throws(KafkaError) {
        try self.init(
            context.configuration, logger: context.logger, isStopped: context.isStopped, limit: context.limit,
            patience: context.patience)
    }

    /// - Parameters:
    ///   - limit: of what is read in all; nil: none.
    ///   - patience: how long a broker may take to answer.
    package init(
        _ configuration: PipelineConfiguration, logger sink: @escaping ClientLog.Sink,
        isStopped: @escaping @Sendable () -> Bool, limit: ReadLimit? = nil, patience: Duration = .seconds(30)
    ) throws(KafkaError) {
        self.limit = limit
        self.patience = patience
        self.configuration = configuration
        self.sink = sink
        self.isStopped = isStopped
        asker = try Consumer(assigning: configuration.kafka, logger: sink)
    }

    /// The first offset and the last stable offset of each partition of a topic.
    package mutating func bounds(of topic: String) throws(KafkaError) -> [Int32: Range<Int64>] {
        let patience = patience
        return try asker.explaining { consumer throws(KafkaError) in
            try consumer.bounds(of: topic, timeout: patience)
        }
    }

    /// The bounds of the topics of sources.
    package mutating func bounds(of sources: [SourceKind]) throws(KafkaError) -> [SourcePartition: Range<Int64>] {
        var found: [SourcePartition: Range<Int64>] = [:]
        for source in sources {
            found.merge(try bounds(of: configuration.topics.topic(of: source)).keyed(by: source)) { $1 }
        }
        return found
    }

    /// The cluster's id; nil if the broker does not report it.
    package func clusterID() -> String? { asker.clusterID(timeout: patience) }

    /// The group's committed offset of each partition of a topic that has one.
    package mutating func committed(of topic: String, by group: String) throws(KafkaError) -> [Int32: Int64] {
        var reader = try Consumer(assigning: configuration.kafka, group: group, logger: sink)
        let (patience, stable) = (patience, configuration.transactionTimeout + .seconds(10))
        let found = try reader.explaining { consumer throws(KafkaError) in
            try consumer.committedWhenStable(
                consumer.partitions(of: topic, timeout: patience), timeout: stable)
        }
        return Dictionary(uniqueKeysWithValues: found.map { ($0.key.partition, $0.value.offset.value) })
    }

    /// The timestamps of the first remaining records in ranges of a topic; none for a range without records near its
    /// start.
    package func firstTimestamps(
        of topic: String, in ranges: [Int32: Range<Int64>]
    ) throws -> [Int32: WallTime] {
        var found: [Int32: WallTime] = [:]
        // Transaction markers take offsets, too.
        let starts = ranges.mapValues { $0.clamped(to: $0.lowerBound..<$0.lowerBound + 1_000) }
        try read(starts, of: topic) { records, indices in
            for index in indices where found[records[index].partition] == nil {
                found[records[index].partition] = records[index].timestamp ?? .epoch
            }
        }
        return found
    }

    /// The first offset of each partition at or after a time; the end offset if there is none.
    package mutating func offsets(
        of topic: String, at times: [Int32: WallTime]
    ) throws(KafkaError) -> [Int32: Int64] {
        var asked: [TopicPartition: WallTime] = [:]
        for (partition, time) in times { asked[TopicPartition(topic: topic, partition: partition)] = time }
        let found = try asker.offsets(at: asked, timeout: patience)
        return Dictionary(uniqueKeysWithValues: found.map { ($0.key.partition, $0.value.value) })
    }

    /// The part of a topic between two times: from the first record at or after the one, to the first record at or after
    /// the other.
    ///
    /// - Parameters:
    ///   - bounds: what to choose from; nil: all that can be read now.
    ///   - from: nil: no limit.
    package mutating func range(
        of topic: String, in bounds: [Int32: Range<Int64>]? = nil, from: WallTime?, to: WallTime? = nil
    ) throws(KafkaError) -> [Int32: Range<Int64>] {
        var ranges = if let bounds { bounds } else { try self.bounds(of: topic) }
        if let from {
            for (partition, start) in try offsets(of: topic, at: ranges.mapValues { _ in from }) {
                ranges[partition] = ranges[partition]?.clamped(to: start..<Int64.max)
            }
        }
        if let to {
            for (partition, end) in try offsets(of: topic, at: ranges.mapValues { _ in to }) {
                ranges[partition] = ranges[partition]?.clamped(to: 0..<end)
            }
        }
        return ranges
    }

    /// Reads ranges of a topic.
    ///
    /// - Parameters:
    ///   - take: receives the records of the ranges, in offset order of each partition.
    ///   - progress: the number of records so far, and the fraction that was read.
    package func read(
        _ ranges: [Int32: Range<Int64>], of topic: String,
        take: (borrowing RecordBatch, [Int]) throws -> Void, progress: (Int, Double) -> Void = { _, _ in }
    ) throws {
        guard ranges.contains(where: { !$0.value.isEmpty }) else { return }
        var settings = configuration.kafka
        settings["auto.offset.reset"] = "error"
        var consumer = try Consumer(assigning: settings, logger: sink)
        try TopicReader.read(ranges, of: topic, with: &consumer) { records, indices in
            if isStopped() { throw ReplayStopped() }
            try limit?.spend(records: indices.count, bytes: records.byteCount)
            try take(records, indices)
        } progress: {
            progress($0, $1)
        }
    }

    /// Where to start folding so that the state of a source is complete at an offset: as long before the newest record below
    /// it as the state depends on. An out-of-order record only makes that earlier.
    ///
    /// - Returns: by partition, the offset, and whether the log still reaches that far back.
    package mutating func foldStarts(
        of source: SourceKind, _ offsets: [Int32: Int64], bounds: [Int32: Range<Int64>]
    ) throws -> [Int32: (offset: Int64, isWhole: Bool)] {
        let topic = configuration.topics.topic(of: source)
        var found: [Int32: (offset: Int64, isWhole: Bool)] = [:]
        var times: [Int32: WallTime] = [:]
        var window: Int64 = 128
        var open = offsets
        while !open.isEmpty {
            if isStopped() { throw ReplayStopped() }
            var ranges: [Int32: Range<Int64>] = [:]
            for (partition, offset) in open {
                let start = bounds[partition]?.lowerBound ?? 0
                ranges[partition] = max(start, offset - window)..<max(start, offset)
            }
            var latest: [Int32: WallTime] = [:]
            try read(ranges, of: topic) { records, indices in
                for index in indices { latest[records[index].partition] = records[index].timestamp ?? .epoch }
            }
            for (partition, offset) in open {
                let start = bounds[partition]?.lowerBound ?? 0
                if let time = latest[partition] {
                    times[partition] = time
                } else if offset - window <= start {
                    // No record precedes it.
                    found[partition] = (min(start, offset), start == 0)
                } else {
                    continue
                }
                open[partition] = nil
            }
            window *= 16
        }
        let starts = times.mapValues { configuration.foldStart(of: source, newest: $0) }
        for (partition, offset) in try self.offsets(of: topic, at: starts) {
            let start = bounds[partition]?.lowerBound ?? 0
            let from = min(max(offset, start), offsets[partition] ?? offset)
            // An older record still exists.
            found[partition] = (from, from > start || start == 0)
        }
        return found
    }

    /// The configuration of a topic; empty where the broker cannot be asked for it, as an embedded one.
    package func settings(of topic: String) throws(KafkaError) -> [String: String] {
        do throws(KafkaError) {
            let admin = try Admin(settings: configuration.kafka)
            return try admin.describe(topics: [topic], timeout: patience).first?.configuration ?? [:]
        } catch {
            guard error.kind == .unsupported else { throw error }
            return [:]
        }
    }

    /// Waits until every transaction that has written to a topic so far has ended, so that its records can be read.
    ///
    /// - Returns: the end offsets then.
    package mutating func settledBounds(of topic: String, timeout: Duration) throws -> [Int32: Range<Int64>] {
        let isSettled = try TopicReader.waitUntilSettled(
            topic, settings: configuration.kafka, logger: sink, timeout: timeout, until: isStopped)
        guard isSettled else {
            if isStopped() { throw ReplayStopped() }
            throw ReplayRefusal("\(topic): a transaction stays open, and the records after it cannot be read")
        }
        return try bounds(of: topic)
    }
}
