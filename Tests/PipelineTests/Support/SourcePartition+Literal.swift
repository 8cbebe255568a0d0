import Events
import KafkaClient

@testable import Pipeline

/// Most tests read the events of orders alone.
extension SourcePartition: ExpressibleByIntegerLiteral {
    public init(integerLiteral number: Int32) { self.init(.orders, number) }
}

extension TopicPartition: ExpressibleByIntegerLiteral {
    public init(integerLiteral partition: Int32) { self.init(topic: "orders.events", partition: partition) }
}
