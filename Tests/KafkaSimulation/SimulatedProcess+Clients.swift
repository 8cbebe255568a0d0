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

    package func read(
        from starts: [TopicPartition: Offset], to ends: [TopicPartition: Offset], _ settings: Settings,
        _ sink: @escaping ClientLog.Sink, take: (borrowing RecordBatch) throws -> Void
    ) throws {
        for partition in starts.keys.sorted() {
            guard let start = starts[partition]?.value, let end = ends[partition]?.value else { continue }
            var position = Int(start)
            while position < end {
                try request("read", of: .reader, deadline: .seconds(5))
                var batch = RecordBatch()
                position = kafka.read(partition, from: position, upTo: Int(end), limit: 10, into: &batch)
                try take(batch)
            }
        }
    }

    package func endOffsets(
        _ partitions: [TopicPartition], _ settings: Settings, _ sink: @escaping ClientLog.Sink
    ) throws(KafkaError) -> [TopicPartition: Offset] {
        try request("end_offsets", of: .reader, deadline: .seconds(10))
        return kafka.ends(of: partitions, isStable: settings["isolation.level"] != "read_uncommitted")
    }
}
