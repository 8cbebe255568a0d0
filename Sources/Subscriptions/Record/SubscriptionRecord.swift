/// A record of notifications.subscriptions. Key and value live as long as the call that takes it.
package struct SubscriptionRecord {
    package var partition: Int32
    package var offset: Int64
    package var key: UnsafeRawBufferPointer?
    /// Nil unsubscribes.
    package var value: UnsafeRawBufferPointer?

    package init(
        partition: Int32, offset: Int64, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?
    ) {
        self.partition = partition
        self.offset = offset
        self.key = key
        self.value = value
    }
}

/// A record that was counted and skipped: named by its place in the log and by hashes, never by its token.
public struct MalformedSubscription: Equatable, Sendable {
    public var partition: Int32
    public var offset: Int64
    /// The SHA-256 of the record's key in hex: the key itself may be the raw token of a confused writer.
    public var keyHash: String
    public var problems: [String]
}

/// What one application of records did.
public struct SubscriptionTableChange: Equatable, Sendable {
    public var upserts = 0
    public var removals = 0
    public var malformed = 0
    /// The first few of them, for the log.
    public var examples: [MalformedSubscription] = []
}

/// What the topic of the subscriptions looks like now, to judge a stored table by.
public struct SubscriptionTopic: Equatable, Sendable {
    public var name: String
    /// The cluster's id; nil where the broker does not tell, and then no store is compared with it.
    public var cluster: String?
    /// The first offset that can be read, by partition; the count is the number of partitions.
    public var startOffsets: [Int64]
    /// The offset after the last record, by partition.
    public var endOffsets: [Int64]
    /// The topic's `delete.retention.ms`: a table older than half of it may have missed tombstones (kafka-rules 18).
    public var deleteRetention: Duration

    public init(
        name: String, cluster: String? = nil, startOffsets: [Int64], endOffsets: [Int64], deleteRetention: Duration
    ) {
        self.name = name
        self.cluster = cluster
        self.startOffsets = startOffsets
        self.endOffsets = endOffsets
        self.deleteRetention = deleteRetention
    }

    /// A table that is older may have missed tombstones: half of `delete.retention.ms`, and 5 s where that is less, since
    /// the ends are asked for once a second.
    public var largestAge: Duration { max(deleteRetention / 2, .seconds(5)) }
}

/// How a table came up, for the log.
public enum SubscriptionTableOpening: Equatable, Sendable {
    /// There was none.
    case created
    /// It goes on where it stopped.
    case resumed(devices: Int)
    /// It was not closed; every entry was looked up and found sound.
    case checked(devices: Int)
    /// It was wiped, for this reason, and is filled again from the topic's beginning.
    case rebuilt(reason: String)
}

/// Why a table cannot be opened or used, and what to do about it.
public struct SubscriptionTableError: Error, Sendable, CustomStringConvertible {
    public enum Recovery: Sendable {
        /// Delete the folder and start again: the table is filled from the topic.
        case wipe
        /// Abort the transaction and try again later: for example the disk is full.
        case retry
        /// A person must decide: the pipeline stops.
        case giveUp
    }

    public var recovery: Recovery
    /// One sentence for a person: what was found, and what to do.
    public var description: String

    package init(_ recovery: Recovery, _ description: String) {
        self.recovery = recovery
        self.description = description
    }
}
