import KafkaClient
import Pipeline
import Synchronization

/// What the workers of a process share. Any thread.
final class BroadcastContext: Sendable {
    let configuration: PipelineConfiguration
    /// Whether a first start begins with the oldest broadcast that is still valid.
    let includesValid: Bool
    let follower: BroadcastFollower
    let ends: SubscriptionEnds
    let clock = PipelineClock()
    let meter: BroadcastMeter
    let board = BroadcastBoard()
    /// What the broker says about the subscriptions' topic.
    let log: SubscriptionsLog
    /// Give the partitions up and end.
    let isDraining = Atomic<Bool>(false)
    /// End at once.
    let isStopping = Atomic<Bool>(false)

    /// What is known of the topic of subscriptions at the start.
    struct SubscriptionsLog: Sendable {
        /// The cluster's id; nil where the broker does not report it.
        var cluster: String?
        var partitions: Int32
        /// A stored table that is older may have missed tombstones, in milliseconds.
        var largestTableAge: Int64
        /// Until then the log has the older versions of each key, in milliseconds.
        var compactionLag: Int64
    }

    init(
        _ configuration: PipelineConfiguration, includesValid: Bool, log: SubscriptionsLog, follower: BroadcastFollower,
        ends: SubscriptionEnds, meter: BroadcastMeter
    ) {
        self.configuration = configuration
        self.includesValid = includesValid
        self.log = log
        self.follower = follower
        self.ends = ends
        self.meter = meter
    }

    var group: String { Self.group(of: configuration) }

    static func group(of configuration: PipelineConfiguration) -> String { "\(configuration.groupID)-broadcasts" }

    /// The folder of a partition's table.
    func folder(of partition: Int32) -> String { "\(Self.folder(of: configuration))/\(partition)" }

    /// The folder of all tables, with a lock of its own: a pipeline of the same instance may run beside it.
    static func folder(of configuration: PipelineConfiguration) -> String {
        configuration.stateDirectory + "/broadcasts"
    }

    var mustEnd: Bool { isDraining.load(ordering: .acquiring) || isStopping.load(ordering: .acquiring) }
    var mustStop: Bool { isStopping.load(ordering: .acquiring) }

    /// See ``Patience/untilItWorks(_:mustEnd:explained:tell:_:)``.
    func untilItWorks<Value: ~Copyable>(
        _ patience: Patience, _ logger: Logger, _ body: () throws(KafkaError) -> Value
    ) throws -> Value {
        try patience.untilItWorks(logger, mustEnd: { mustEnd }, body)
    }
}
