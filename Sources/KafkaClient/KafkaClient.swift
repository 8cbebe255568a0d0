// KafkaClient
