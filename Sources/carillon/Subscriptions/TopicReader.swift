import KafkaClient

/// Reads a topic from its beginning to the ends seen at the start.
enum TopicReader {
    /// - Parameter take: is handed each record, per partition in order of offset.
    /// - Parameter progress: is handed the fraction that was read.
    static func readAll(
        _ topic: String, settings: Settings, logger sink: @escaping ClientLog.Sink,
        take: (ConsumerRecord) -> Void, progress: (Double) -> Void = { _ in }
    ) throws(KafkaError) {
        var consumer = try Consumer(assigning: settings, logger: sink)
        let (partitions, starts, ends) = try consumer.explaining { consumer throws(KafkaError) in
            let count = try consumer.partitionCount(of: topic, timeout: .seconds(30))
            let partitions = (0..<count).map { TopicPartition(topic: topic, partition: Int32($0)) }
            return (
                partitions, try consumer.startOffsets(partitions, timeout: .seconds(30)),
                try consumer.endOffsets(partitions, timeout: .seconds(30))
            )
        }
        var open: [TopicPartition: Offset] = [:]
        for partition in partitions {
            if let start = starts[partition], let end = ends[partition], start < end { open[partition] = start }
        }
        let total = open.reduce(0) { $0 + ((ends[$1.key]?.value ?? 0) - $1.value.value) }
        try consumer.assign(open)
        var lastProgress = ContinuousClock.now
        while !open.isEmpty {
            let read = consumer.read(limit: 2_000, timeout: .seconds(1))
            for record in read.records {
                let partition = TopicPartition(topic: record.topic, partition: record.partition)
                guard let end = ends[partition], record.offset < end else { continue }
                take(record)
                open[partition] = Offset(record.offset.value + 1)
                lastProgress = .now
            }
            // A compacted or transactional log may end before the end offset: kafka-rules 19.
            for (partition, offset) in read.endsOfPartition { open[partition] = max(offset, open[partition] ?? offset) }
            for (partition, offset) in open where ends[partition].map({ offset >= $0 }) ?? true {
                open[partition] = nil
            }
            let left = open.reduce(0) { $0 + ((ends[$1.key]?.value ?? 0) - $1.value.value) }
            progress(total > 0 ? 1 - Double(left) / Double(total) : 1)
            if let error = read.errors.first(where: { $0.recovery == .giveUp }) { throw error }
            if let error = read.errors.last, ContinuousClock.now - lastProgress > .seconds(30) { throw error }
        }
    }
}
