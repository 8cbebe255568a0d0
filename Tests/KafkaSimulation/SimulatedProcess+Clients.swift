import KafkaClient
import Streaming

extension SimulatedProcess: Clients {
    package func member(
        _ contract: Contract, _ sink: @escaping ClientLog.Sink
    ) throws(KafkaError) -> any MemberClient & ~Copyable {
        SimulatedMember(self, contract)
    }

    package func producer(
        _ contract: Contract, _ sink: @escaping ClientLog.Sink
    ) throws(KafkaError) -> any TransactionalProducer & ~Copyable {
        SimulatedProducer(self, contract)
    }

    package func reader(
        _ settings: Settings, passes: [TopicPartition: [ClosedRange<Int64>]],
        onPassing: @escaping @Sendable (RecordPosition?) -> Void, _ sink: @escaping ClientLog.Sink
    ) throws(KafkaError) -> any ReadingClient & ~Copyable {
        SimulatedMember(self, nil, isStable: settings.isStable)
    }

    package func read(
        from starts: [TopicPartition: Offset], to ends: [TopicPartition: Offset], _ settings: Settings,
        _ sink: @escaping ClientLog.Sink, take: (borrowing RecordBatch) throws -> Void
    ) throws {
        var open = starts.filter { $1 < ends[$0] ?? $1 }.mapValues { Int($0.value) }
        func isOpen(_ partition: TopicPartition) -> Bool { open[partition] ?? 0 < ends[partition]?.value ?? 0 }
        // A partition is read on until all have come to their ends.
        while open.keys.contains(where: isOpen) {
            try request("read", of: .reader, deadline: .seconds(5))
            var batch = RecordBatch()
            for partition in open.keys.sorted().shuffled(using: &kafka.baton.generator) {
                guard open[partition] ?? 0 >= kafka.logs[partition]?.start ?? 0 else { throw KafkaError.deleted }
                open[partition] = kafka.read(
                    partition, from: open[partition] ?? 0, upTo: kafka.logs[partition]?.lastStable ?? 0,
                    limit: batch.count + kafka.baton.draw(0...8), into: &batch)
            }
            try take(batch)
        }
    }

    package func endOffsets(
        _ partitions: [TopicPartition], _ settings: Settings, _ sink: @escaping ClientLog.Sink
    ) throws(KafkaError) -> [TopicPartition: Offset] {
        try request("end_offsets", of: .reader, deadline: .seconds(10))
        return kafka.ends(of: partitions, isStable: settings.isStable)
    }

    package func reader(
        _ settings: Settings, _ signal: QueueSignal, _ sink: @escaping ClientLog.Sink
    ) throws(KafkaError) -> any PartitionClient & ~Copyable {
        SimulatedReader(self)
    }
}

extension Settings {
    /// Whether what an open transaction has written does not count.
    fileprivate var isStable: Bool { self["isolation.level"] != "read_uncommitted" }
}
