import KafkaClient

/// What a worker remembers of the trouble with its clients.
struct ClientHealth {
    var fencings = Fencings()
    var backoff = Backoff()
    var watch = ConsumerWatch()
    var hungTransactions = HungTransactionWatch()
    /// A refusal at the start: librdkafka reports some of them once and retries without another report.
    var refusal: KafkaError?
}
