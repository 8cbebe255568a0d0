import CRDKafka
import Synchronization

/// The topic handles of one producer. They are destroyed before the client.
struct ProducerTopics: ~Copyable {
    private static let nextProducer = Atomic<UInt64>(1)

    /// Distinguishes this producer's topics from those of its predecessor.
    let producer: UInt64
    private let handle: ClientHandle
    private(set) var pointers: [OpaquePointer] = []
    private var topics: [ProducerTopic] = []

    init(of handle: ClientHandle) {
        self.handle = handle
        producer = Self.nextProducer.wrappingAdd(1, ordering: .relaxed).oldValue
    }

    deinit {
        for pointer in pointers { rd_kafka_topic_destroy(pointer) }
    }

    mutating func topic(_ name: String, timeout: Duration) throws(KafkaError) -> ProducerTopic {
        if let known = topics.first(where: { $0.name == name }) { return known }
        guard let pointer = rd_kafka_topic_new(handle.pointer, name, nil) else {
            throw handle.error(rd_kafka_last_error(), operation: "topic \(name)")
        }
        do throws(KafkaError) {
            let partitions = try handle.metadata(of: pointer, name, timeout: timeout).partitions
            let topic = ProducerTopic(
                name: name, partitionCount: Int32(clamping: partitions), index: topics.count, producer: producer)
            pointers.append(pointer)
            topics.append(topic)
            return topic
        } catch {
            rd_kafka_topic_destroy(pointer)
            throw error
        }
    }
}
