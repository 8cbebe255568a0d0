import Hosting
import Notifications
import Pipeline
import Streaming
import Synchronization

/// What the lanes of a process share. Any thread.
final class SenderContext: RoleContext {
    let host: RoleHost
    let configuration: PipelineConfiguration
    let credentials: CredentialMap
    /// What a lane reads, and the names of the topics, in the same order: the dispatch topic and its retry topics; where
    /// there are broadcasts, theirs too.
    let streams: [LaneStream]
    let topics: [String]
    /// The indices of the topics as they are read: orders before broadcasts, and retries before new records, which wait for
    /// them.
    let readOrder: [Int]
    let retryTopics: [String]
    /// By the kind of their pushes.
    let dispatchTopics: [String]
    /// Follows `topic.broadcasts`; nil where there are none.
    let broadcasts: BroadcastFollower?
    /// Follows `topic.control`; nil where it is not set.
    let control: ControlFollower?
    let start: SenderStart?
    let clients: any Clients
    let connect: ProviderConnect
    let meter: SenderMeter
    let board = SenderBoard()
    private let running = Atomic<Int>(0)

    init(
        _ host: RoleHost, _ configuration: PipelineConfiguration, _ follower: BroadcastFollower,
        _ control: ControlFollower, start: SenderStart?, clients: any Clients = KafkaClients(),
        connect: @escaping ProviderConnect = connectHTTP,
        meter: SenderMeter
    ) throws(PipelineError) {
        do {
            credentials = try configuration.delivery.credentialMap()
        } catch {
            throw .decisionNeeded("delivery.credentials: \(error)")
        }
        self.host = host
        self.configuration = configuration
        dispatchTopics = configuration.topics.dispatchTopics
        streams = LaneStream.all(
            of: Array(PushKind.allCases.prefix(dispatchTopics.count)), tiers: configuration.delivery.retries.count)
        topics = dispatchTopics.flatMap { [$0] + configuration.delivery.retryTopics(of: $0) }
        retryTopics = dispatchTopics.flatMap(configuration.delivery.retryTopics)
        readOrder = PushKind.allCases.flatMap { [streams] kind in
            streams.indices.reversed().filter { streams[$0].kind == kind }
        }
        broadcasts = dispatchTopics.count > 1 ? follower : nil
        self.control = configuration.topics.control.isEmpty ? nil : control
        self.start = start
        self.clients = clients
        self.connect = connect
        self.meter = meter
    }

    func topic(_ stream: LaneStream) -> String { topics[topicIndex(stream)] }

    /// The number of a topic's queue, and its index among a partition's offsets.
    func topicIndex(_ stream: LaneStream) -> Int { stream.index(tiers: configuration.delivery.retries.count) }

    func stream(of topic: String) -> LaneStream? { topics.firstIndex(of: topic).map { streams[$0] } }

    /// The index of a lane among all.
    func number(of provider: Platform) -> Int { Platform.allCases.firstIndex(of: provider) ?? 0 }

    /// Whether each lane that has not ended has stopped.
    var hasNoLane: Bool { board.stopped.count >= running.load(ordering: .sequentiallyConsistent) }

    func lanesStart(_ count: Int) { running.store(count, ordering: .sequentiallyConsistent) }

    /// After the last lane there is nothing to keep the process for.
    func laneEnded() {
        if running.subtract(1, ordering: .sequentiallyConsistent).newValue == 0 { host.drain() }
    }
}

/// Where the partitions of a lane begin that has never committed.
public enum SenderStart: Sendable, Equatable {
    case position(PipelineConfiguration.StartPosition)
    /// At the offsets of the group that has sent until now.
    case group(String)
}
