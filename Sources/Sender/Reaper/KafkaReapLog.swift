import JSONReader
import KafkaClient
import Notifications
import Pipeline

/// The reaper's log on Kafka. The group and the transactional id are both `<group.id>-reap`; nobody joins the group, so
/// that fencing alone leaves one active reaper. One owner, one thread.
package final class KafkaReapLog: ReapLog {
    private static let patience: Duration = .seconds(30)

    /// The group, and the transactional id.
    package let name: String
    private let configuration: PipelineConfiguration
    private let logger: Logger
    /// Called between two batches; true ends the reading with ``ReaperStopped``.
    private let isStopped: () -> Bool
    /// The records so far, and the fraction that was read.
    private let progress: (Int, Double) -> Void
    /// Asks on behalf of the group, which it does not join.
    private var asker: Consumer
    private var producer: Producer?

    package init(
        _ configuration: PipelineConfiguration, logger: Logger, until stop: @escaping () -> Bool,
        progress: @escaping (Int, Double) -> Void = { _, _ in }
    ) throws(KafkaError) {
        name = "\(configuration.groupID)-reap"
        self.configuration = configuration
        self.logger = logger
        isStopped = stop
        self.progress = progress
        asker = try Consumer(assigning: configuration.kafka, group: name, logger: logger.clientSink)
    }

    // MARK: Reading

    package func committed() throws -> [Int32: CommittedOffset] {
        let topic = configuration.topics.deliveries
        let patience = configuration.transactionTimeout + .seconds(10)
        let found = try asker.explaining { consumer throws(KafkaError) in
            try consumer.committedWhenStable(
                consumer.partitions(of: topic, timeout: Self.patience), timeout: patience)
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

    package func readSubscriptions(
        from starts: [Int32: Int64]?, _ filter: ReapFilter, take: (ConsumerRecord) -> Void
    ) throws -> [Int32: Int64] {
        let topic = configuration.topics.subscriptions
        var bounds = try bounds(of: topic)
        // Of the topic, not of what is read: a key's partition depends on it.
        let partitions = bounds.count
        if let starts {
            for (partition, whole) in bounds {
                bounds[partition] = starts[partition].map {
                    min(max($0, whole.lowerBound), whole.upperBound)..<whole.upperBound
                }
            }
        }
        let name = Array(ReapMark.header.utf8)
        try read(bounds, of: topic) { records, index in
            let view = records[index]
            guard let key = view.key, view.partition == Murmur2.partition(of: key, count: partitions) else { return }
            let isWanted =
                switch filter {
                case .devices(let isWanted): DeviceHash(ofKey: key).map(isWanted) ?? false
                case .marked: records.headers[view.headers].contains { $0.name.elementsEqual(name) }
                case .keys(let keys): keys.contains(Array(key))
                }
            if isWanted { take(records.record(at: index)) }
        }
        return bounds.mapValues(\.upperBound)
    }

    package func settleSubscriptions() throws {
        let topic = configuration.topics.subscriptions
        let isSettled = try TopicReader.waitUntilSettled(
            topic, settings: configuration.kafka, logger: logger.clientSink,
            timeout: configuration.transactionTimeout + .seconds(20), until: isStopped)
        if isSettled { return }
        if isStopped() { throw ReaperStopped() }
        throw KafkaError(
            kind: .timedOut, recovery: .retry, name: "",
            message:
                "\(topic): a transaction stays open, and the records after it cannot be read; the next run verifies "
                + "what was deleted",
            operation: "reap")
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

    package func takeOver() throws {
        let timeout = configuration.transactionTimeout
        producer = nil
        var producer = try Producer(
            settings: configuration.transactionSettings, transactionalID: name, logger: logger.clientSink)
        _ = try producer.topic(configuration.topics.subscriptions, timeout: Self.patience)
        // The predecessor's transaction may have to time out.
        try producer.initTransactions(deadline: timeout + .seconds(10))
        self.producer = consume producer
        logger.debug("dead devices: this reaper has taken over", ["transactional.id": name])
    }

    package func commit(_ records: [ProducerRecord], _ offsets: [Int32: CommittedOffset]) throws {
        guard var producer = self.producer.take() else {
            throw KafkaError(
                kind: .state, recovery: .recreateClient, name: "", message: "no reaper has taken over",
                operation: "reap")
        }
        // A copy of the request that ended the last transaction may still be on its way, and must not end this one
        // (docs/kafka.md 4). Whoever takes over has a new epoch.
        guard !producer.hasRepeatedRequests else {
            throw KafkaError(
                kind: .transport, recovery: .recreateClient, name: "",
                message: "a request was sent twice, and its first copy may still be on its way", operation: "reap")
        }
        var positions: [TopicPartition: CommittedOffset] = [:]
        for (partition, offset) in offsets {
            positions[TopicPartition(topic: configuration.topics.deliveries, partition: partition)] = offset
        }
        let topic = try producer.topic(configuration.topics.subscriptions)
        try producer.beginTransaction()
        for record in records { try producer.produce(record, to: topic) }
        try producer.sendOffsets(
            positions, try asker.groupMetadata(), deadline: configuration.transactionTimeout)
        try producer.commitTransaction()
        self.producer = consume producer
    }
}
