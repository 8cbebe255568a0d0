import KafkaClient

/// What a worker does after an error of Kafka's: the first of these that fits. `Event` is what a refused record comes from.
package enum Remedy<Event: Equatable>: Equatable {
    package struct Refusal: Equatable {
        /// The event whose record it was; nil where that is not known.
        package var event: Event?
        package var error: KafkaError
    }

    /// A record was refused permanently: find its event.
    case isolate(Refusal)
    /// The consumer failed with this error, whatever else went wrong.
    case replaceFailedConsumer(KafkaError)
    /// The error is the consumer's own.
    case replaceConsumer
    /// End the transaction and go back to the committed offsets. Out of range, the consumer has stopped reading, and its
    /// partitions have to be assigned again.
    case rewind(isOutOfRange: Bool)

    /// - Parameters:
    ///   - refusals: what the producer has reported of the open transaction's records, by the event that they come from.
    ///   - alone: the only event of the transaction, if that is so.
    ///   - consumer: the consumer's fatal error, if it has one.
    package init(
        after error: KafkaError, refusals: [(event: Event?, error: KafkaError)], alone: Event?,
        consumer: KafkaError?
    ) {
        let refusal = (refusals + [(alone, error)]).first { $0.error.kind.traits.isOfRecord }
        if let refusal {
            self = .isolate(Refusal(event: refusal.event, error: refusal.error))
        } else if let consumer {
            self = .replaceFailedConsumer(consumer)
        } else if error.ends(.member) {
            self = .replaceConsumer
        } else {
            self = .rewind(isOutOfRange: error.kind == .offsetOutOfRange)
        }
    }
}
