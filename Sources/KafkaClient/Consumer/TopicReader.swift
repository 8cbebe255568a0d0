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
    /// - Parameter take: is handed the records as they come, none where a second has brought none; the last ones may be
    ///   beyond the ends. What it throws ends the reading.
    package static func read(
        from starts: [TopicPartition: Offset], to ends: [TopicPartition: Offset], with consumer: inout Consumer,
        take: (borrowing RecordBatch) throws -> Void, progress: (Double) -> Void = { _ in }
    ) throws {
        var open: [TopicPartition: Offset] = [:]
        for (partition, start) in starts {
            if let end = ends[partition], start < end { open[partition] = start }
        }
        let total = open.reduce(0) { $0 + ((ends[$1.key]?.value ?? 0) - $1.value.value) }
        try consumer.assign(open)
        var lastProgress = ContinuousClock.now
        var records = RecordBatch()
        while !open.isEmpty {
            records.removeAll()
            consumer.fill(&records, limit: 2_000, timeout: .seconds(1))
            try take(records)
            if !records.isEmpty { lastProgress = .now }
            for index in 0..<records.count {
                let record = records[index]
                let partition = TopicPartition(topic: record.topic, partition: record.partition)
                open[partition] = Offset(record.offset + 1)
            }
            // A compacted or transactional log may end before the end offset: kafka-rules 19.
            for (partition, offset) in records.endsOfPartition {
                open[partition] = max(offset, open[partition] ?? offset)
            }
            for (partition, offset) in open where ends[partition].map({ offset >= $0 }) ?? true {
                open[partition] = nil
            }
            let left = open.reduce(0) { $0 + ((ends[$1.key]?.value ?? 0) - $1.value.value) }
            progress(total > 0 ? 1 - Double(left) / Double(total) : 1)
            if let error = records.errors.first(where: { $0.recovery == .giveUp }) { throw error }
            if let error = records.errors.last, ContinuousClock.now - lastProgress > .seconds(30) { throw error }
        }
    }
}
