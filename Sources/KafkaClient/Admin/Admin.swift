/// A topic to create.
public struct NewTopic: Hashable, Sendable {
    public var name: String
    public var partitions: Int32
    /// -1: the broker's default.
    public var replicationFactor: Int32
    public var configuration: [String: String]

    public init(name: String, partitions: Int32, replicationFactor: Int32 = -1, configuration: [String: String] = [:]) {
        self.name = name
        self.partitions = partitions
        self.replicationFactor = replicationFactor
        self.configuration = configuration
    }
}

/// A topic as the cluster has it.
public struct TopicDescription: Hashable, Sendable {
    public var name: String
    public var partitions: Int32
    public var replicationFactor: Int32
    /// All effective settings of the topic; sensitive ones are absent.
    public var configuration: [String: String]
}

public struct GroupMember: Hashable, Sendable {
    public var memberID: String
    /// `group.instance.id` of a static member.
    public var instanceID: String?
    public var clientID: String
    public var host: String
    public var assignment: [TopicPartition]
}

public struct GroupDescription: Hashable, Sendable {
    public var group: String
    /// `Stable`, `Empty`, `PreparingRebalance`, `Dead` …
    public var state: String
    public var members: [GroupMember]
}

public struct ClusterDescription: Hashable, Sendable {
    public struct Broker: Hashable, Sendable {
        public var id: Int32
        public var host: String
        public var port: Int
    }
    public var clusterID: String?
    public var brokers: [Broker]
}

/// Questions to the cluster about topics and groups, and creating topics. One thread owns it; every call blocks up to its timeout.
public struct Admin: ~Copyable {
    public init(settings: Settings, logger sink: @escaping ClientLog.Sink = { _ in }) throws(KafkaError) {}

    /// Creates topics; each has an answer of its own (nil: created). An existing one is `.topicAlreadyExists`.
    public func createTopics(
        _ topics: [NewTopic], validateOnly: Bool = false, timeout: Duration = .seconds(30)
    ) throws(KafkaError) -> [String: KafkaError?] { [:] }

    /// The topics that exist, with their settings; one that does not exist is not in the answer.
    public func describe(topics: [String], timeout: Duration = .seconds(30)) throws(KafkaError) -> [TopicDescription] {
        []
    }

    /// The group's commits with their metadata: of these partitions, or of all.
    public func listCommitted(
        group: String, partitions: [TopicPartition]? = nil, timeout: Duration = .seconds(30)
    ) throws(KafkaError) -> [TopicPartition: CommittedOffset] { [:] }

    /// Who is in the group now. Not on the mock cluster, where the call blocks the client for good.
    public func describe(group: String, timeout: Duration = .seconds(30)) throws(KafkaError) -> GroupDescription {
        GroupDescription(group: group, state: "", members: [])
    }

    public func cluster(timeout: Duration = .seconds(10)) throws(KafkaError) -> ClusterDescription {
        ClusterDescription(clusterID: nil, brokers: [])
    }

    /// What is known of the brokers' release, `4.0 or newer`; nil where nothing is.
    public func brokerVersion(timeout: Duration = .seconds(10)) -> String? { nil }

    public consuming func close() {}
}
