/// A record of notifications.subscriptions. Key and value are valid only during the call that takes it.
package struct SubscriptionRecord {
    package var partition: Int32
    package var offset: Int64
    package var key: UnsafeRawBufferPointer?
    /// Nil: a tombstone, which unsubscribes.
    package var value: UnsafeRawBufferPointer?
    package var partitioning: Partitioning
    /// The offset of the registrar's command that it was written for; nil: somebody else has written it.
    package var command: Int64?

    /// Whether it is in the partition of its key. In any other it changes nothing (docs/rules.md §4.4).
    package enum Partitioning: Sendable {
        case right
        /// Its producer chose another partition.
        case misplaced
        /// A null in a wrong partition by which Carillon has ended a misplaced record.
        case ended
    }

    package init(
        partition: Int32, offset: Int64, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
        partitioning: Partitioning = .right
    ) {
        self.partition = partition
        self.offset = offset
        self.key = key
        self.value = value
        self.partitioning = partitioning
    }

    /// The kind of audience that its key names; nil if the key is not that of a subscription.
    package var kind: Audience? { SubscriptionKey.View(key).flatMap { Audience(of: $0.audience) } }

    /// The header of a record whose token takes the place of another one. Its value is the time at which the device first
    /// joined the audience, in milliseconds since 1970.
    package static let sinceHeader = "since"

    /// The header of a record that the registrar has written. Its value is the offset of the command that it was written for.
    package static let commandHeader = "command"

    /// The header of what the registrar has written by a provider's evidence: of a tombstone, and of what somebody else wrote
    /// meanwhile and it has restored.
    package static let deadHeader = "dead"

    /// The offset that the value of ``commandHeader`` says; nil: it says none.
    package static func command(_ header: UnsafeRawBufferPointer?) -> Int64? {
        header.flatMap { Int64(digits: $0) }
    }

    /// Whether the value of ``sinceHeader`` is 1 to 18 digits: any other is as if it were not there.
    package static func isRotation(_ since: UnsafeRawBufferPointer?) -> Bool {
        guard let since, (1...18).contains(since.count) else { return false }
        return since.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}

/// A record that was counted and skipped: named by its partition and offset and by hashes, never by its token.
public struct MalformedSubscription: Equatable, Sendable {
    public var partition: Int32
    public var offset: Int64
    /// The SHA-256 of the record's key in hex: the key of a broken writer may be the token itself.
    public var keyHash: String
    public var problems: [String]
}

/// A record in a partition that is not that of its key: named without its token.
public struct MisplacedSubscription: Equatable, Sendable {
    public var partition: Int32
    public var offset: Int64
    /// The SHA-256 of the record's key in hex.
    public var keyHash: String
}

/// The result of applying records.
public struct SubscriptionTableChange: Equatable, Sendable {
    public var upserts = 0
    public var removals = 0
    public var malformed = 0
    /// The first few of them, for the log.
    public var examples: [MalformedSubscription] = []
    /// Records in partitions that are not those of their keys.
    public var misplaced = 0
    /// The first of them, for the log.
    public var misplacedExample: MisplacedSubscription?
}

/// The present state of the subscriptions topic, by which a stored table is checked.
public struct SubscriptionTopic: Equatable, Sendable {
    public var name: String
    /// The cluster's id; nil if the broker does not report it, and then no table is compared with it.
    public var cluster: String?
    /// The first offset that can be read, by partition; the count is the number of partitions.
    public var startOffsets: [Int64]
    /// The offset after the last record, by partition.
    public var endOffsets: [Int64]
    /// The topic's `delete.retention.ms`: a table older than half of it may have missed tombstones (docs/kafka.md 18).
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

    /// A table older than this may have missed tombstones: half of `delete.retention.ms`, but at least 5 s, since the
    /// end offsets are queried once per second.
    public var largestAge: Duration { max(deleteRetention / 2, .seconds(5)) }
}

/// How a table was opened, for the log.
public enum SubscriptionTableOpening: Equatable, Sendable {
    /// There was none before.
    case created
    /// It continues at its stored offsets.
    case resumed(devices: Int)
    /// It was not closed, but only its process had ended: it continues at its stored offsets.
    case unclosed(devices: Int)
    /// It was wiped, for this reason, and is filled from the topic's beginning.
    case rebuilt(reason: String)
}

/// Why a table cannot be opened or used, and what to do about it.
public struct SubscriptionTableError: Error, Sendable, CustomStringConvertible {
    public enum Recovery: Sendable {
        /// Delete the folder and start again: the table is filled from the topic.
        case wipe
        /// Abort the transaction and retry later: for example, the disk is full.
        case retry
        /// A person must decide: the pipeline stops.
        case giveUp
    }

    public var recovery: Recovery
    /// One sentence for a person: what was found, and what to do about it.
    public var description: String

    package init(_ recovery: Recovery, _ description: String) {
        self.recovery = recovery
        self.description = description
    }
}
