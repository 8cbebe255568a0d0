/// librdkafka's in-process cluster, for demonstrations and quick tests.
///
/// It speaks the real protocol to real clients, but its transactions isolate, abort, fence and store nothing (kafka-rules, "What the mock cluster cannot show").
public final class MockCluster: Sendable {
    /// A request of the protocol, for ``pushErrors(_:_:)``.
    public struct Request: Hashable, Sendable {
        let key: Int16

        public static let produce = Request(key: 0)
        public static let fetch = Request(key: 1)
        public static let listOffsets = Request(key: 2)
        public static let metadata = Request(key: 3)
        public static let offsetCommit = Request(key: 8)
        public static let offsetFetch = Request(key: 9)
        public static let findCoordinator = Request(key: 10)
        public static let joinGroup = Request(key: 11)
        public static let heartbeat = Request(key: 12)
        public static let syncGroup = Request(key: 14)
        public static let initProducerID = Request(key: 22)
        public static let addPartitionsToTransaction = Request(key: 24)
        public static let addOffsetsToTransaction = Request(key: 25)
        public static let endTransaction = Request(key: 26)
        public static let transactionOffsetCommit = Request(key: 28)
    }

    public init(brokers: Int = 1) throws(KafkaError) {}

    public var bootstrapServers: String { "" }

    public func createTopic(_ name: String, partitions: Int, replicationFactor: Int = 1) throws(KafkaError) {}

    /// The next requests of this kind fail with these errors (librdkafka's names: `NOT_COORDINATOR`), one each.
    public func pushErrors(_ request: Request, _ names: [String]) throws(KafkaError) {}

    public func setBrokerDown(_ id: Int) throws(KafkaError) {}
    public func setBrokerUp(_ id: Int) throws(KafkaError) {}
    public func setRoundTripTime(_ id: Int, _ time: Duration) throws(KafkaError) {}
}
