import JSONReader
import KafkaClient
import Notifications
import Pipeline
import Registrar

/// The reaper's log on Kafka. The group is `<group.id>-reap`; nobody joins it. One owner, one thread.
package final class KafkaReapLog: ReapLog {
    private static let patience: Duration = .seconds(30)

    private let configuration: PipelineConfiguration
    private let logger: Logger
    /// Called between two batches; true ends the reading with ``ReaperStopped``.
    private let isStopped: () -> Bool
    /// The records so far, and the fraction that was read.
    private let progress: (Int, Double) -> Void
    /// Asks on behalf of the group, which it does not join.
    private var asker: Consumer

    package init(
        _ configuration: PipelineConfiguration, logger: Logger, until stop: @escaping () -> Bool,
        progress: @escaping (Int, Double) -> Void = { _, _ in }
    ) throws(KafkaError) {
        self.configuration = configuration
        self.logger = logger
        isStopped = stop
        self.progress = progress
        asker = try Consumer(
            assigning: configuration.kafka, group: "\(configuration.groupID)-reap", logger: logger.clientSink)
    }

    // MARK: Reading

    package func committed() throws -> [Int32: CommittedOffset] {
        let topic = configuration.topics.deliveries
        let found = try asker.explaining { consumer throws(KafkaError) in
            try consumer.committed(consumer.partitions(of: topic, timeout: Self.patience), timeout: Self.patience)
        }
        return Dictionary(uniqueKeysWithValues: found.map { ($0.key.partition, $0.value) })
    }

    package func readDeliveries(
        from starts: [Int32: Int64], since time: WallTime,
        take: (_ record: DeliveryRecord, _ partition: Int32, _ offset: Int64, _ isBelow: Bool) -> Void
    ) throws -> [Int32: Int64] {
        let topic = configuration.topics.deliveries
        var bounds = try bounds(of: topic)
        let firsts = try asker.offsets(
            at: time, of: starts.keys.map { TopicPartition(topic: topic, partition: $0) }, timeout: Self.patience)
        var starts = starts
        for (partition, start) in starts {
            guard let whole = bounds[partition] else { continue }
            if start > whole.upperBound {
                logger.warning(
                    "the topic ends before the reaper's offset, so it was created again; read from its beginning",
                    ["partition": "\(topic)/\(partition)", "offset": "\(start)", "end": "\(whole.upperBound)"])
                starts[partition] = nil
            } else {
                let first = firsts[TopicPartition(topic: topic, partition: partition)]?.value ?? start
                bounds[partition] = max(min(start, first), whole.lowerBound)..<whole.upperBound
            }
        }
        var malformed = 0
        var reader = JSONReader()
        try read(bounds, of: topic) { records, index in
            let view = records[index]
            let record = view.value.flatMap { value in
                (try? reader.parse(value)).flatMap { try? DeliveryRecord($0) }
            }
            guard let record else {
                malformed += 1
                return
            }
            take(record, view.partition, view.offset, view.offset < starts[view.partition] ?? 0)
        }
        if malformed > 0 {
            logger.warning("records that are no outcomes were skipped", ["topic": topic, "records": "\(malformed)"])
        }
        return bounds.mapValues(\.upperBound)
    }

    /// The first offset and the last stable offset of each partition.
    private func bounds(of topic: String) throws(KafkaError) -> [Int32: Range<Int64>] {
        try asker.explaining { consumer throws(KafkaError) in
            try consumer.bounds(of: topic, timeout: Self.patience)
        }
    }

    private func read(
        _ bounds: [Int32: Range<Int64>], of topic: String,
        take: (borrowing RecordBatch, Int) throws -> Void
    ) throws {
        guard bounds.contains(where: { !$0.value.isEmpty }) else { return }
        var consumer = try Consumer(assigning: configuration.kafka, logger: logger.clientSink)
        try TopicReader.read(bounds, of: topic, with: &consumer) { records, indices in
            if isStopped() { throw ReaperStopped() }
            for index in indices { try take(records, index) }
        } progress: {
            progress($0, $1)
        }
    }

    // MARK: Writing

    package func write(_ commands: [Command]) throws {
        guard !commands.isEmpty else { return }
        var producer = try Producer(settings: configuration.kafka, logger: logger.clientSink)
        let topic = try producer.topic(configuration.topics.commands, timeout: Self.patience)
        for command in commands {
            if isStopped() { throw ReaperStopped() }
            // All commands have one order.
            try producer.produce(ProducerRecord(key: nil, value: command.json, partition: 0), to: topic)
        }
        try producer.flush(timeout: Self.patience)
        if let failure = producer.takeFailures().first { throw failure.error }
    }

    package func commit(_ offsets: [Int32: CommittedOffset]) throws {
        var positions: [TopicPartition: CommittedOffset] = [:]
        for (partition, offset) in offsets {
            positions[TopicPartition(topic: configuration.topics.deliveries, partition: partition)] = offset
        }
        try asker.explaining { consumer throws(KafkaError) in try consumer.commit(positions, timeout: Self.patience) }
    }
}
