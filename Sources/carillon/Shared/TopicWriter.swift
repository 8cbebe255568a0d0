import KafkaClient
import Pipeline

/// Writes records to one topic, partitioned by murmur2 of the whole key, as a Java client would.
struct TopicWriter: ~Copyable {
    private var producer: Producer
    private let topic: ProducerTopic
    private let name: String

    init(_ name: String, _ configuration: PipelineConfiguration) throws(KafkaError) {
        var producer = try Producer(settings: configuration.kafka, logger: configuration.clientSink)
        topic = try Self.topic(name, of: &producer)
        self.name = name
        self.producer = producer
    }

    /// The client's own errors say more than a time-out.
    private static func topic(_ name: String, of producer: inout Producer) throws(KafkaError) -> ProducerTopic {
        do {
            return try producer.topic(name, timeout: .seconds(30))
        } catch {
            throw producer.takeErrors().last { $0.kind == .authentication || $0.kind == .tls } ?? error
        }
    }

    /// - Parameter value: nil is a tombstone.
    mutating func write(key: String, value: [UInt8]?, headers: [RecordHeader] = []) throws(KafkaError) {
        try write(ProducerRecord(key: Array(key.utf8), value: value, headers: headers))
    }

    mutating func write(_ record: ProducerRecord) throws(KafkaError) {
        try producer.produce(record, to: topic)
        producer.poll(timeout: .zero)
        try takeFailures()
    }

    /// Writes a record, and waits until it is written.
    ///
    /// - Returns: its position; nil if the broker did not report it.
    mutating func writeAndLocate(
        key: String, value: [UInt8]
    ) throws(KafkaError) -> RecordPosition? {
        try writeAndLocate(ProducerRecord(key: Array(key.utf8), value: value))
    }

    mutating func writeAndLocate(_ record: ProducerRecord) throws(KafkaError) -> RecordPosition? {
        try producer.produce(record, to: topic, tag: Producer.timedTag)
        try finish()
        return producer.takeAppendPosition().map { RecordPosition(name, $0.partition, $0.offset) }
    }

    /// When the broker appended the record that was located last; nil where the topic does not say.
    mutating func takeAppendTime() -> WallTime? { producer.takeAppendTime() }

    /// Waits until everything is written.
    mutating func finish(timeout: Duration = .seconds(60)) throws(KafkaError) {
        try producer.flush(timeout: timeout)
        try takeFailures()
    }

    private mutating func takeFailures() throws(KafkaError) {
        if let failure = producer.takeFailures().first { throw failure.error }
    }
}
