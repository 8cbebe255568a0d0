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

/// A topic that exists in the cluster.
public struct TopicDescription: Hashable, Sendable {
    public var name: String
    public var partitions: Int32
    /// Of the partition that has the fewest replicas.
    public var replicationFactor: Int32
    /// All effective settings of the topic, defaults included; sensitive ones are absent.
    public var configuration: [String: String]
}

/// A member of a consumer group.
public struct GroupMember: Hashable, Sendable {
    public var memberID: String
    /// `group.instance.id` of a static member.
    public var instanceID: String?
    public var clientID: String
    public var host: String
    public var assignment: [TopicPartition]
}

/// A consumer group as its coordinator describes it. A group that does not exist is `Dead` and has no members.
public struct GroupDescription: Hashable, Sendable {
    public var group: String
    /// `Stable`, `Empty`, `PreparingRebalance`, `CompletingRebalance`, `Dead`
    public var state: String
    public var members: [GroupMember]
}

/// A cluster and its brokers.
public struct ClusterDescription: Hashable, Sendable {
    public struct Broker: Hashable, Sendable {
        public var id: Int32
        public var host: String
        public var port: Int
    }

    public var clusterID: String?
    public var brokers: [Broker]
}
