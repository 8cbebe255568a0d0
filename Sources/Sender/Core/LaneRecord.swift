import Notifications
import Pipeline

/// A dispatch record of a lane, from a dispatch topic or from a retry topic.
package struct LaneRecord: Equatable, Sendable {
    /// The most bytes of value and headers. A push is at most half as long, fully escaped; an outcome and a retry repeat what
    /// a record says, and must fit into their topics.
    static let maxSize = 64 << 10

    package var kind = PushKind.orders
    /// Of the dispatch record, and of its copies in the retry topics.
    package var partition: Int32
    /// The offset of the dispatch record.
    package var source: Int64
    package var device: DeviceOrder.Device
    /// The key: the SHA-256 of the token, 64 hex digits.
    package var deviceHash: String
    package var messageID: String
    package var platform: Platform
    package var app: String?
    /// Of APNs.
    package var environment: PushEnvironment?
    /// The index of its credential; nil if there is none.
    package var credential: Int?
    package var expiresAt: WallTime
    /// When it was appended to the dispatch topic; nil of a copy in a retry topic, which does not say.
    package var appendedAt: WallTime?
    /// Of the push of a request that has an id.
    package var requestID: Hash128?
    /// The offset of the registrar's command by which its device was subscribed; nil: by none.
    package var command: Int64?
    /// The offset of its broadcast in `topic.broadcasts`; nil of an order's, and where it does not say one.
    package var broadcast: Int64?
    /// The provider's message: the record's value.
    package var value: [UInt8] = []
    /// All headers but the retry's note, to be passed on.
    package var headers: [Header] = []
    /// The bytes of its value and headers.
    package var size = 0

    package struct Header: Equatable, Sendable {
        package var name: [UInt8]
        package var value: [UInt8]?
    }
}

extension LaneRecord {
    /// The reason of one that its device is not to get any more.
    static let withdrawn = "withdrawn"

    /// What it was written for: the header `audience`.
    var audience: Hash128? {
        let audience = headers.last { $0.name.elementsEqual(DispatchHeader.audience.text.utf8) }?.value
        return audience.map { $0.withUnsafeBytes { Hash128($0) } }
    }
}

extension RetryNote {
    /// Of a dispatch record that was not tried yet.
    init(_ record: LaneRecord) {
        self.init(offset: record.source, attempts: 0, used: 0, appendedAt: record.appendedAt)
    }
}

/// What is decided about a lane's records besides the code.
package struct LaneSettings: Sendable {
    /// The dispatch topics, by the kind of their pushes; without broadcasts one.
    package var dispatchTopics: [String]
    package var partitions: Int32
    package var provider: Platform
    /// Whether `topic.control` is set.
    package var isControlled = false
    /// The credentials' names.
    package var credentials: [String]
    /// Those of the lane's provider, by their indices among them.
    package var own: [Int]
    /// The most open offsets of a partition.
    package var window = LaneOffset.largestWindow
    /// The most requests in flight.
    package var inFlight = 1_000
    /// The delays of the retry topics, in milliseconds, ascending.
    package var tiers: [Int64] = [10_000, 60_000, 900_000]
    /// How long a push is tried, pauses not counted, in milliseconds.
    package var longestTry: Int64 = 3_600_000
    /// A gap between two ticks after which other processes may have taken the partitions, in milliseconds.
    package var frozenAfter: Int64 = 22_500
    /// How much older than the log a table may be by which a push is written, with a reserve, in milliseconds.
    package var tableLag: Int64 = 60_000
    /// How long answers are waited for when partitions are revoked, in milliseconds.
    package var lastAnswers: Int64 = 15_000
    /// The messages a minute of each credential, all processes together; nil is no limit.
    package var perMinute: [Int?]

    package init(
        dispatchTopics: [String], partitions: Int32, provider: Platform, credentials: [String]
    ) {
        self.dispatchTopics = dispatchTopics
        self.partitions = partitions
        self.provider = provider
        self.credentials = credentials
        own = Array(credentials.indices)
        perMinute = credentials.map { _ in nil }
    }

    /// Every topic that is read, in the order of a partition's offsets.
    var streams: [LaneStream] {
        LaneStream.all(of: Array(PushKind.allCases.prefix(dispatchTopics.count)), tiers: tiers.count)
    }
}

/// A request that is to be sent now.
package struct LaneRequest: Equatable, Sendable {
    /// Comes back with its answer.
    package var tag: UInt64
    package var record: LaneRecord
    package var credential: Int
}

/// What one transaction writes and commits.
package struct LaneTransaction: Equatable, Sendable {
    package struct Retry: Equatable, Sendable {
        package var tier: Int
        package var record: LaneRecord
        package var note: RetryNote

        /// Where it is written to.
        var stream: LaneStream { .tier(record.kind, tier) }
    }

    package struct Commit: Equatable, Sendable {
        package var stream: LaneStream
        package var partition: Int32
        package var offset: LaneOffset
        /// Whether it gives the partition up.
        var isLast = false
    }

    package var outcomes: [DeliveryRecord] = []
    package var retries: [Retry] = []
    package var commits: [Commit] = []
}
