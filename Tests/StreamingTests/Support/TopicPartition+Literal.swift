import KafkaClient

extension TopicPartition: ExpressibleByIntegerLiteral {
    public init(integerLiteral partition: Int32) { self.init(topic: "orders.events", partition: partition) }
}
