import FuzzSupport
import KafkaClient

@testable import Notifications

/// Writes records as one batch of a codec and reads them again, through librdkafka's own cluster.
///
/// The bytes of a batch are not mutated: librdkafka parses them, and a broker refuses a batch whose records cannot be
/// parsed. What a broker takes and librdkafka cannot decompress is in `UnreadableBatchTests`.
final class TransportCheck {
    private static let topic = "orders.events"
    /// The cluster keeps 5 MB.
    private static let mostBytes = 1 << 20

    private let cluster: MockCluster
    private var producer: Producer
    private var consumer: Consumer
    private let target: ProducerTopic

    static func all() -> [TransportCheck] {
        must { try ["none", "gzip", "snappy", "lz4", "zstd"].map { try TransportCheck(codec: $0) } }
    }

    private init(codec: String) throws {
        cluster = try MockCluster()
        try cluster.createTopic(Self.topic, partitions: 1)
        let settings = ["bootstrap.servers": cluster.bootstrapServers, "fetch.wait.max.ms": "10"]
        producer = try Producer(settings: settings.merging(["compression.type": codec, "linger.ms": "1"]) { $1 })
        target = try producer.topic(Self.topic)
        consumer = try Consumer(assigning: settings)
        try consumer.assign([TopicPartition(topic: Self.topic, partition: 0): Offset(0)])
    }

    /// What is read is what was written.
    func take(_ inputs: [RecordInput]) {
        let records = inputs.map(Self.record)
        let size = records.reduce(0) { sum, record in
            sum + (record.key?.count ?? 0) + (record.value?.count ?? 0)
                + record.headers.reduce(0) { $0 + $1.name.utf8.count + ($1.value?.count ?? 0) }
        }
        guard size <= Self.mostBytes else { return }
        must {
            for record in records { try producer.produce(record, to: target) }
            try producer.flush(timeout: .seconds(30))
        }
        expect(producer.takeFailures().isEmpty, "the cluster takes everything")
        var read: [ConsumerRecord] = []
        let deadline = ContinuousClock.now + .seconds(30)
        while read.count < records.count, .now < deadline {
            let more = consumer.read(limit: 100, timeout: .milliseconds(100))
            expect(more.errors.isEmpty && more.unreadable.isEmpty, "everything can be read: \(more)")
            read += more.records
        }
        expect(read.count == records.count, "as many records are read: \(read.count) of \(records.count)")
        for (record, again) in zip(records, read) {
            expect(record.key == again.key && record.value == again.value, "key and value are the same: \(again)")
            expect(record.headers == again.headers, "the headers are the same: \(again)")
            guard let timestamp = record.timestamp else { continue }
            expect(timestamp == again.timestamp, "the timestamp is the same: \(timestamp), \(again)")
        }
    }

    private static func record(_ input: RecordInput) -> ProducerRecord {
        ProducerRecord(
            key: input.key.map(Array.init), value: Array(input.value),
            headers: input.headers.map { header in
                // librdkafka's names end at a null byte.
                RecordHeader(
                    String(decoding: header.name.prefix { $0 != 0 }, as: UTF8.self), header.value.map(Array.init))
            }, partition: 0,
            // Others mean now.
            timestamp: input.timestamp.flatMap { $0 > .epoch ? $0 : nil })
    }
}
