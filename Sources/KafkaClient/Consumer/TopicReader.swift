/// Reads a topic from its beginning to the ends seen at the start.
package enum TopicReader {
    /// - Parameter take: is handed each record, per partition in order of offset.
    /// - Parameter progress: is handed the fraction that was read.
    package static func readAll(
        _ topic: String, settings: Settings, logger sink: @escaping ClientLog.Sink,
        take: (ConsumerRecord) throws -> Void, progress: (Double) -> Void = { _ in }
    ) throws {
        var consumer = try Consumer(assigning: settings, logger: sink)
        let (starts, ends) = try consumer.explaining { consumer throws(KafkaError) in
            let count = try consumer.partitionCount(of: topic, timeout: .seconds(30))
            let partitions = (0..<count).map { TopicPartition(topic: topic, partition: Int32($0)) }
            return (
                try consumer.startOffsets(partitions, timeout: .seconds(30)),
                try consumer.endOffsets(partitions, timeout: .seconds(30))
            )
        }
        try read(from: starts, to: ends, with: &consumer) { batch in
            for index in 0..<batch.count {
                let record = batch.record(at: index)
                let partition = TopicPartition(topic: record.topic, partition: record.partition)
                if let end = ends[partition], record.offset < end { try take(record) }
            }
        } progress: {
            progress($0)
        }
    }

    /// Reads the partitions that `consumer` does not have yet.
    ///
    /// It always ends. Where neither a record nor the end of a partition has come for `patience`, it asks where the log ends now:
    /// one that ends before the end that was asked for was cut, or its topic was deleted and created again, and that is thrown.
    /// Records that retention deletes meanwhile are left out, unless `auto.offset.reset=error`, which throws.
    ///
    /// - Parameters:
    ///   - patience: brokers that do not answer, or answer and send nothing, are waited for six times as long.
    ///   - take: is handed the records as they come, none where a second has brought none; the last ones may be beyond the
    ///     ends. What it throws ends the reading.
    /// - Throws: `KafkaError`: `.offsetOutOfRange` where the log does not hold what was asked for, `.timedOut` or the reason
    ///   for it where nothing arrives.
    package static func read(
        from starts: [TopicPartition: Offset], to ends: [TopicPartition: Offset], with consumer: inout Consumer,
        patience: Duration = .seconds(10), take: (borrowing RecordBatch) throws -> Void,
        progress: (Double) -> Void = { _ in }
    ) throws {
        var open: [TopicPartition: Offset] = [:]
        for (partition, start) in starts {
            if let end = ends[partition], start < end { open[partition] = start }
        }
        let total = open.reduce(0) { $0 + ((ends[$1.key]?.value ?? 0) - $1.value.value) }
        try consumer.assign(open)
        var quiet = QuietTime(patience: patience)
        var records = RecordBatch()
        while !open.isEmpty {
            records.removeAll()
            consumer.fill(&records, limit: 2_000, timeout: min(patience, .seconds(1)))
            try advance(&open, by: records)
            try take(records)
            if !records.isEmpty || !records.endsOfPartition.isEmpty { quiet.end() }
            if let error = records.errors.last { quiet.reason = error }
            for (partition, offset) in open where ends[partition].map({ offset >= $0 }) ?? true {
                open[partition] = nil
            }
            let left = open.reduce(0) { $0 + ((ends[$1.key]?.value ?? 0) - $1.value.value) }
            progress(total > 0 ? 1 - Double(left) / Double(total) : 1)
            if let error = records.errors.first(where: { $0.recovery == .giveUp }) { throw error }
            if quiet.isLookDue() {
                try look(at: open, to: ends, with: &consumer, &quiet)
                if quiet.isOver { throw quiet.reason ?? .nothingArrives(for: quiet.time) }
            }
        }
    }

    /// - Throws: where a record comes before the position. A consumer whose offset no longer exists begins at the log's start
    ///   where its settings say so, and reads what is another log.
    private static func advance(
        _ open: inout [TopicPartition: Offset], by records: borrowing RecordBatch
    ) throws(KafkaError) {
        for index in 0..<records.count {
            let record = records[index]
            let partition = TopicPartition(topic: record.topic, partition: record.partition)
            guard let position = open[partition] else { continue }
            guard record.offset >= position.value else {
                throw .cut(partition, "the reading stood at offset \(position), and offset \(record.offset) came")
            }
            open[partition] = Offset(record.offset + 1)
        }
        // A compacted or transactional log may end before the end offset: kafka-rules 19.
        for (partition, offset) in records.endsOfPartition {
            if let position = open[partition] { open[partition] = max(offset, position) }
        }
    }

    /// Looks whether what is to be read is still there. Where nobody answers, that is why nothing arrives.
    private static func look(
        at open: [TopicPartition: Offset], to ends: [TopicPartition: Offset], with consumer: inout Consumer,
        _ quiet: inout QuietTime
    ) throws(KafkaError) {
        let found: [TopicPartition: Offset]
        do throws(KafkaError) {
            found = try consumer.explaining { consumer throws(KafkaError) in
                try consumer.endOffsets(Array(open.keys), timeout: .seconds(10))
            }
        } catch {
            if error.recovery == .giveUp { throw error }
            quiet.reason = error
            return
        }
        for (partition, position) in open.sorted(by: { $0.key < $1.key }) {
            guard let end = found[partition], let wanted = ends[partition], end <= position else { continue }
            throw .cut(partition, "the log ends at offset \(end), and was to be read to offset \(wanted)")
        }
    }
}

/// How long nothing has arrived, and when to look why.
private struct QuietTime {
    private let patience: Duration
    /// The latest error meanwhile.
    var reason: KafkaError?
    private var began = ContinuousClock.now
    private var looked = ContinuousClock.now

    /// After so many times the patience the reading ends.
    private static let mostPatience = 6

    init(patience: Duration) {
        self.patience = patience
    }

    mutating func end() {
        began = .now
        looked = began
        reason = nil
    }

    /// Whether a look is due; said once a patience.
    mutating func isLookDue() -> Bool {
        guard .now - looked >= patience else { return false }
        looked = .now
        return true
    }

    var time: Duration { .now - began }

    var isOver: Bool { time >= patience * Self.mostPatience }
}

extension KafkaError {
    fileprivate static func cut(_ partition: TopicPartition, _ finding: String) -> KafkaError {
        KafkaError(
            kind: .offsetOutOfRange, recovery: .giveUp, name: "",
            message:
                "\(finding): the log was cut, or the topic was deleted and created again, while it was read. Run it again",
            operation: "read", partition: partition)
    }

    fileprivate static func nothingArrives(for time: Duration) -> KafkaError {
        KafkaError(
            kind: .timedOut, recovery: .retry, name: "",
            message: "nothing has arrived for \(time.components.seconds) s, although the log holds more: run it again",
            operation: "read")
    }
}
