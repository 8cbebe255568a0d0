import KafkaClient

/// What a worker does after an error of Kafka's: the first of these that fits.
package enum Remedy: Equatable {
    package struct Refusal: Equatable {
        /// The record's; nil where that is not known.
        package var tag: UInt64?
        package var error: KafkaError
    }

    /// A record was refused permanently: find what it comes from.
    case isolate(Refusal)
    /// The consumer failed with this error, whatever else went wrong.
    case replaceFailedConsumer(KafkaError)
    /// The error is the consumer's own.
    case replaceConsumer
    /// End the transaction and go back. Out of range, the consumer has stopped reading, and its partitions have to be
    /// located again.
    case rewind(isOutOfRange: Bool)

    /// - Parameters:
    ///   - refusals: what the producer has reported of the open transaction's records.
    ///   - consumer: the consumer's fatal error, if it has one.
    package init(after error: KafkaError, refusals: [DeliveryFailure], consumer: KafkaError?) {
        let refusals = refusals.map { Refusal(tag: $0.tag, error: $0.error) } + [Refusal(tag: nil, error: error)]
        if let refusal = refusals.first(where: { $0.error.kind.traits.isOfRecord }) {
            self = .isolate(refusal)
        } else if let consumer {
            self = .replaceFailedConsumer(consumer)
        } else if error.ends(.member) {
            self = .replaceConsumer
        } else {
            self = .rewind(isOutOfRange: error.kind == .offsetOutOfRange)
        }
    }
}
