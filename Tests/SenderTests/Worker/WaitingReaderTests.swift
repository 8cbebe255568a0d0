import Streaming
import TestSupport
import Testing

@testable import KafkaClient
@testable import Sender

@Suite("What waits in Kafka is read again", .timeLimit(.minutes(30)))
struct WaitingReaderTests {
    @Test("behind a batch that cannot be decompressed, too: what is wanted of a partition is before it or behind it")
    func bomb() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 1)
        let kafka = ["bootstrap.servers": cluster.bootstrapServers]
        // A batch each; the second one is more than the reader can decompress.
        for (count, bytes) in [(1, 1), (2, 900_000), (2, 1)] {
            let one = ["compression.type": "zstd", "message.max.bytes": "100000000", "batch.size": "100000000"]
            var producer = try Producer(settings: kafka.merging(one) { $1 }.merging(["linger.ms": "500"]) { $1 })
            let topic = try producer.topic("t")
            let value = [UInt8](repeating: 0x61, count: bytes)
            for _ in 0..<count {
                try producer.produce(ProducerRecord(key: nil, value: value, partition: 0), to: topic)
            }
            try producer.flush(timeout: .seconds(20))
        }
        let limits = [
            "receive.message.max.bytes": "600000", "fetch.max.bytes": "500000", "message.max.bytes": "400000",
        ]
        var reader = WaitingReader(
            KafkaClients(), kafka.merging(limits) { $1 }, .machine, signal: try QueueSignal(), logger: { _ in })
        var wanted: Set<Int64> = [0, 4]
        var (read, errors) = ([Int64](), [KafkaError]())
        let deadline = ContinuousClock.now + .seconds(60)
        while !wanted.isEmpty, .now < deadline {
            errors += try reader.read(
                TopicPartition(topic: "t", partition: 0), wanted: { from in wanted.filter { $0 >= from }.min() },
                take: { record, _ in if wanted.remove(record.offset) != nil { read.append(record.offset) } })
        }
        #expect(read == [0, 4] && errors.count == 1 && errors.allSatisfy { !$0.isFatal })
        reader.removeAll()
    }
}
