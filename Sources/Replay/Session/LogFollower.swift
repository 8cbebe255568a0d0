import KafkaClient

/// Follows topics from given offsets: each call reads what has been appended since the last one. Committed records
/// only.
///
/// One owner, one thread. Each call costs one request for the end offsets and one for each topic's partitions; nothing
/// is read twice.
struct LogFollower: ~Copyable {
    private static let patience: Duration = .seconds(10)

    private var consumer: Consumer
    private var positions: [TopicPartition: Offset]
    /// By topic.
    private let partitionCounts: [String: Int]
    private let isStopped: @Sendable () -> Bool

    /// - Parameters:
    ///   - starts: where to begin; missing partitions are not read.
    ///   - partitionCounts: the known number of partitions of each topic.
    init(
        _ starts: [TopicPartition: Offset], partitionCounts: [String: Int], _ context: ReplayContext
    ) throws {
        var settings = context.configuration.kafka
        settings["auto.offset.reset"] = "error"
        var consumer = try Consumer(assigning: settings, logger: context.logger)
        try consumer.assign(starts)
        self.consumer = consumer
        positions = starts
        self.partitionCounts = partitionCounts
        isStopped = context.isStopped
    }

    /// Reads up to the current end offsets. Waits for an unreachable broker.
    ///
    /// - Parameters:
    ///   - take: receives the records, in offset order of each partition.
    ///   - tell: receives messages for a waiting person, one line each.
    /// - Throws: ``ReplayRefusal`` if a topic has got more partitions, ``ReplayStopped``, and errors that a retry
    ///   cannot resolve.
    mutating func advance(
        tell: (String) -> Void, take: (borrowing RecordBatch) throws -> Void
    ) throws {
        let ends = try ends(tell)
        var records = RecordBatch()
        var lastTold = ContinuousClock.now
        while !isThere(ends) {
            if isStopped() { throw ReplayStopped() }
            records.removeAll()
            consumer.fill(&records, limit: 2_000, timeout: .milliseconds(500))
            try take(records)
            for index in 0..<records.count {
                let record = records[index]
                move(TopicPartition(topic: record.topic, partition: record.partition), to: Offset(record.offset + 1))
            }
            // Transaction markers may follow the last record.
            for (partition, offset) in records.endsOfPartition { move(partition, to: offset) }
            if let error = records.errors.first(where: { $0.recovery == .giveUp || $0.needsAPerson }) { throw error }
            if let error = records.errors.last, .now - lastTold > .seconds(10) {
                lastTold = .now
                tell("\(error); waiting")
            }
        }
    }

    private func isThere(_ ends: [TopicPartition: Offset]) -> Bool {
        positions.allSatisfy { partition, offset in ends[partition].map { offset >= $0 } ?? true }
    }

    private mutating func move(_ partition: TopicPartition, to offset: Offset) {
        positions[partition] = max(positions[partition] ?? offset, offset)
    }

    private mutating func ends(_ tell: (String) -> Void) throws -> [TopicPartition: Offset] {
        while true {
            do {
                for (topic, known) in partitionCounts.sorted(by: { $0.key < $1.key }) {
                    let count = try consumer.partitionCount(of: topic, timeout: Self.patience)
                    guard count == known else {
                        throw ReplayRefusal(
                            "\(topic) has \(count) partitions, and had \(known): keys have moved; start again with the same "
                                + "--id, which looks for them")
                    }
                }
                return try consumer.explaining { consumer throws(KafkaError) in
                    try consumer.endOffsets(positions.keys.sorted(), timeout: Self.patience)
                }
            } catch let error as KafkaError {
                // A broker that has just restarted may not know its topics yet.
                let isComingBack = error.kind == .unknownTopicOrPartition
                if !isComingBack, error.needsAPerson || error.recovery == .giveUp { throw error }
                if isStopped() { throw ReplayStopped() }
                tell("\(error); waiting")
            }
        }
    }
}
