import KafkaClient
import Streaming

/// What a worker remembers of the trouble with its clients.
struct ClientHealth {
    var fencings = Fencings()
    var backoff = Backoff()
    /// One for each source: a topic that is stuck is noticed while others are read.
    var watches: [SourceKind: ConsumerWatch] = [:]
    var hungTransactions = HungTransactionWatch()
    /// A refusal at the start: librdkafka reports some of them once and retries without another report.
    var refusal: KafkaError?

    var isHopeless: Bool { watches.values.contains { $0.isHopeless } }
}
