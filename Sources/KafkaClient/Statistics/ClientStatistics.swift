/// A consumer's measurements of itself, from librdkafka's statistics (`statistics.interval.ms`).
public struct ClientStatistics: Hashable, Sendable {
    public struct Partition: Hashable, Sendable {
        public var partition: TopicPartition
        public var highWatermark: Offset?
        public var lastStableOffset: Offset?
    }

    /// Whether a connection to a broker is up.
    public var isConnected: Bool
    public var partitions: [Partition]
}
