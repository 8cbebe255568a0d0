/// What went wrong with Kafka, and what the caller can do about it.
public struct KafkaError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What the caller can do, from what librdkafka says of an error, in this order: fatal, abortable, retriable.
    public enum Recovery: Hashable, Sendable {
        /// Call the same function again, with the same arguments. After a `commitTransaction` with this recovery, never
        /// abort.
        case retry
        /// Abort the transaction, seek to the committed offsets and begin a new one.
        case abortTransaction
        /// Destroy this client and create a new one with the same settings.
        case recreateClient
        /// Retrying does not help: a wrong setting, a refused login, a slot that another process has taken.
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
        /// A gap in a partition's sequence numbers. librdkafka 2.0.2 leaves one after a record that failed permanently:
        /// the next transaction fails once with this error, although none of its records is at fault, and its abort
        /// repairs the sequence.
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
        /// The call is not valid in the client's current state.
        case state
        case other
    }

    /// Which client failed.
    public enum Client: Hashable, Sendable {
        /// A consumer that is a member of its group.
        case member
        case producer
        /// A consumer that has joined no group.
        case reader
        case admin

        var isConsumer: Bool {
            switch self {
            case .member, .reader: true
            case .producer, .admin: false
            }
        }
    }

    public var kind: Kind
    public var recovery: Recovery
    /// Nil for an error that is no client's.
    public var client: Client?
    /// The client can no longer be used.
    public var isFatal: Bool
    /// librdkafka's name of the code, `_FENCED`.
    public var name: String
    /// One sentence for an operator.
    public var message: String
    /// The function that failed, `commit_transaction`, for people; "" for an error that no call caused.
    public var operation: String
    /// The partition concerned, if known.
    public var partition: TopicPartition?
    /// The topics of the request, where it had some.
    package var topics: [String] = []
    /// Whether the request was for reading: for records or offsets.
    package var isOfReading: Bool

    public var description: String {
        var text = operation.isEmpty ? "" : "\(operation): "
        if let partition { text += "\(partition): " }
        text += message
        if !name.isEmpty { text += " (\(name))" }
        return text
    }

    package init(
        kind: Kind, recovery: Recovery, isFatal: Bool = false, of client: Client? = nil, name: String, message: String,
        operation: String = "", partition: TopicPartition? = nil
    ) {
        self.kind = kind
        self.recovery = recovery
        self.isFatal = isFatal
        self.client = client
        isOfReading = client?.isConsumer ?? false
        self.name = name
        self.message = message
        self.operation = operation
        self.partition = partition
    }
}
