import KafkaClient
import Streaming

/// A reader of single partitions of the simulated broker.
struct SimulatedReader: ~Copyable, PartitionClient {
    private let process: SimulatedProcess
    /// Where each is read, and from when on something has come.
    private var cursors: [TopicPartition: (position: Int, ready: Duration)] = [:]

    private var kafka: SimulatedKafka { process.kafka }

    init(_ process: SimulatedProcess) { self.process = process }

    mutating func start(_ partition: TopicPartition, at offset: Int64) {
        cursors[partition] = (Int(offset), kafka.baton.now + kafka.baton.milliseconds(0...30))
    }

    mutating func stop(_ partition: TopicPartition) { cursors[partition] = nil }

    mutating func fill(_ batch: inout RecordBatch, from partition: TopicPartition, limit: Int) {
        guard let cursor = cursors[partition], kafka.baton.now >= cursor.ready, !process.isAway else { return }
        let position = kafka.read(
            partition, from: cursor.position, upTo: kafka.logs[partition]?.lastStable ?? 0,
            limit: min(limit, kafka.baton.draw(1...12)), into: &batch)
        let delay = kafka.baton.isOne(of: kafka.faults.slowFetch) ? 4_000 : 3
        cursors[partition] = (position, kafka.baton.now + kafka.baton.milliseconds(0...delay))
    }
}
