import Testing

@testable import KafkaClient
