import Hosting
import KafkaClient
import Pipeline
import Streaming
import Synchronization

/// What the workers of a process share. Any thread.
final class BroadcastContext: RoleContext {
    let host: RoleHost
    let configuration: PipelineConfiguration
    /// Whether a first start begins with the oldest broadcast that is still valid.
    let includesValid: Bool
    let follower: BroadcastFollower
    let ends: SubscriptionEnds
    let clients: any Clients
    let meter: BroadcastMeter
    let board: BroadcastBoard
    /// What the broker says about the subscriptions' topic.
    let log: SubscriptionsLog
    /// That of `broadcasts.rate`: what one worker sends, the others do not.
    private let pace: Mutex<Pace>

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
        _ host: RoleHost, _ configuration: PipelineConfiguration, includesValid: Bool, log: SubscriptionsLog,
        follower: BroadcastFollower, ends: SubscriptionEnds, clients: any Clients = KafkaClients(),
        meter: BroadcastMeter
    ) {
        self.host = host
        self.configuration = configuration
        self.includesValid = includesValid
        self.log = log
        self.follower = follower
        self.ends = ends
        self.clients = clients
        self.meter = meter
        board = BroadcastBoard(workers: configuration.workers)
        pace = Mutex(Pace(perSecond: configuration.broadcasts.rate))
    }

    /// Whether everything of a partition was read that was there a moment ago.
    func isReached(_ partition: Int32, at position: Int64) -> Bool {
        ends.isReached(partition, at: position, within: BroadcastTenant.freshness, now: now)
    }

    /// The dispatch records that the process may write now. Workers that ask at the same moment may each write so many;
    /// what was too much is made up for.
    var budget: Int { pace.withLock { $0.budget() } }

    /// Counts dispatch records that a worker writes now.
    func take(_ records: Int) { pace.withLock { _ = $0.take(records) } }

    var group: String { Self.group(of: configuration) }

    static func group(of configuration: PipelineConfiguration) -> String { "\(configuration.groupID)-broadcasts" }

    /// The folder of a partition's table.
    func folder(of partition: Int32) -> String { "\(Self.folder(of: configuration))/\(partition)" }

    /// The folder of all tables, with a lock of its own: a pipeline of the same instance may run beside it.
    static func folder(of configuration: PipelineConfiguration) -> String {
        configuration.stateDirectory + "/broadcasts"
    }
}
