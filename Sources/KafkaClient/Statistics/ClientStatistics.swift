/// A client's measurements of itself, from librdkafka's statistics (`statistics.interval.ms`).
public struct ClientStatistics: Hashable, Sendable {
    public struct Broker: Hashable, Sendable {
        public var name: String
        public var state: String
        /// The mean time of a request, from sending it to its answer.
        public var roundTripTime: Duration
        public var roundTripTimeP99: Duration
        public var requestErrors: Int
        public var requestTimeouts: Int
        public var connects: Int
        public var disconnects: Int
    }

    public struct Partition: Hashable, Sendable {
        public var partition: TopicPartition
        /// Records in the local queue.
        public var queuedRecords: Int
        public var queuedBytes: Int
        public var highWatermark: Offset?
        public var lastStableOffset: Offset?
        /// Records between the consumer's position and the last stable offset; nil if unknown.
        public var lag: Int?
    }

    /// `rdkafka#consumer-1`
    public var name: String
    public var isConsumer: Bool
    /// When it was measured.
    public var time: WallTime
    /// Operations that wait for the owner to poll.
    public var pendingOperations: Int
    /// Records in the producer's queues.
    public var queuedRecords: Int
    public var queuedBytes: Int
    public var transmittedRecords: Int
    public var transmittedRecordBytes: Int
    public var receivedRecords: Int
    public var receivedRecordBytes: Int
    public var transmittedRequests: Int
    public var transmittedBytes: Int
    public var receivedResponses: Int
    public var receivedBytes: Int
    public var rebalances: Int
    public var groupState: String?
    public var transactionState: String?
    public var brokers: [Broker]
    public var partitions: [Partition]
}
