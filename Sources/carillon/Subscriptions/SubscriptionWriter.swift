import KafkaClient
import Pipeline

/// Writes to the subscriptions topic.
struct SubscriptionWriter: ~Copyable {
    private var writer: TopicWriter

    init(_ configuration: PipelineConfiguration) throws(KafkaError) {
        writer = try TopicWriter(configuration.topics.subscriptions, configuration)
    }

    mutating func subscribe(_ subscription: Subscription) throws(KafkaError) {
        try writer.write(key: subscription.key, value: subscription.encoded())
    }

    mutating func write(_ record: ProducerRecord) throws(KafkaError) { try writer.write(record) }

    /// Waits until everything is written.
    mutating func finish() throws(KafkaError) { try writer.finish() }
}
