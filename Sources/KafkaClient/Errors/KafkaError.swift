/// What went wrong with Kafka, and what the caller can do about it.
public struct KafkaError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What the caller can do, from librdkafka's own three questions in this order: fatal, abortable, retriable.
    public enum Recovery: Hashable, Sendable {
        /// Call the same function again, with the same arguments. Never abort after a `commitTransaction` that says so.
        case retry
        /// Abort the transaction, seek to the committed offsets, begin anew.
        case abortTransaction
        /// Destroy this client and make a new one with the same settings.
        case recreateClient
        /// No repetition helps: a wrong setting, a login refused, a slot that another process has taken.
        case giveUp
    }

    public enum Kind: Hashable, Sendable {
        case authentication
        case authorization
        case unknownTopicOrPartition
        /// Another producer has this `transactional.id`, or this producer's own transaction timed out.
        case fenced
        /// Another consumer has this `group.instance.id`.
        case fencedInstanceID
        case messageTooLarge
        case invalidRecord
        /// A gap in the sequence of a partition's records. librdkafka 2.0.2 leaves one behind a record that failed for good: the transaction after that one's fails once with this, its abort
        /// heals it, and no record is to blame.
        case outOfSequence
        case queueFull
        case timedOut
        case transport
        case allBrokersDown
        case tls
        case offsetOutOfRange
        case offsetMetadataTooLarge
        case maxPollExceeded
        case unknownMember
        case rebalanceInProgress
        /// Not sent, because the transaction was aborted.
        case purged
        case topicAlreadyExists
        case configuration
        case unsupported
        /// The call does not fit the client's state.
        case state
        case other
    }

    public var kind: Kind
    public var recovery: Recovery
    /// The client can do nothing more.
    public var isFatal: Bool
    /// librdkafka's name of the code, `_FENCED`.
    public var name: String
    /// One sentence for an operator.
    public var message: String
    /// The function that failed, `commit_transaction`; "" for errors that come by themselves.
    public var operation: String
    /// The partition that it is about, where known.
    public var partition: TopicPartition?

    public var description: String {
        var text = operation.isEmpty ? "" : "\(operation): "
        if let partition { text += "\(partition): " }
        text += message
        if !name.isEmpty { text += " (\(name))" }
        return text
    }

    package init(
        kind: Kind, recovery: Recovery, isFatal: Bool = false, name: String, message: String, operation: String = "",
        partition: TopicPartition? = nil
    ) {
        self.kind = kind
        self.recovery = recovery
        self.isFatal = isFatal
        self.name = name
        self.message = message
        self.operation = operation
        self.partition = partition
    }
}
