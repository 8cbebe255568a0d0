import CRDKafka

/// librdkafka's in-process cluster, for demonstrations and quick tests.
///
/// It speaks the real protocol to real clients, but its transactions isolate, abort, fence and store nothing, a
/// partition keeps 5 MB, the first join of a group takes 3 s, and administrative requests do not work
/// (docs/kafka.md, "What the mock cluster cannot show"). Any thread may call it.
public final class MockCluster: Sendable {
    /// A request of the protocol, for ``pushErrors(_:_:)``.
    public struct Request: Hashable, Sendable {
        let key: Int16

        public static let produce = Request(key: 0)
        public static let fetch = Request(key: 1)
        public static let listOffsets = Request(key: 2)
        public static let metadata = Request(key: 3)
        public static let commitOffsets = Request(key: 8)
        public static let heartbeat = Request(key: 12)
        public static let addPartitionsToTransaction = Request(key: 24)
        public static let endTransaction = Request(key: 26)
        public static let transactionOffsetCommit = Request(key: 28)
    }

    /// The client that hosts the cluster, and the cluster. `@unchecked Sendable`: librdkafka serves it on its own thread
    /// and locks it, so any thread may use both.
    private struct Pointers: @unchecked Sendable {
        let client: OpaquePointer
        let cluster: OpaquePointer
    }

    private let pointers: Pointers
    /// `127.0.0.1:40001,127.0.0.1:40002`
    public let bootstrapServers: String

    public init(brokers: Int = 1) throws(KafkaError) {
        var error = [CChar](repeating: 0, count: 512)
        guard let configuration = rd_kafka_conf_new() else { throw .configuration("no memory for a configuration") }
        // This client only hosts the cluster and connects to nothing, which librdkafka would warn about.
        _ = rd_kafka_conf_set(configuration, "log_level", "3", &error, error.count)
        guard let client = rd_kafka_new(RD_KAFKA_PRODUCER, configuration, &error, error.count) else {
            rd_kafka_conf_destroy(configuration)
            throw .configuration(error.sentence)
        }
        guard let cluster = rd_kafka_mock_cluster_new(client, Int32(clamping: brokers)) else {
            rd_kafka_destroy(client)
            throw .configuration("a mock cluster of \(brokers) brokers could not be created")
        }
        pointers = Pointers(client: client, cluster: cluster)
        bootstrapServers = rd_kafka_mock_cluster_bootstraps(cluster).map { String(cString: $0) } ?? ""
    }

    deinit {
        rd_kafka_mock_cluster_destroy(pointers.cluster)
        rd_kafka_destroy(pointers.client)
    }

    /// An existing topic is an error. A client that requests a missing topic creates it with 4 partitions.
    public func createTopic(_ name: String, partitions: Int, replicationFactor: Int = 1) throws(KafkaError) {
        try check(
            rd_kafka_mock_topic_create(
                pointers.cluster, name, Int32(clamping: partitions), Int32(clamping: replicationFactor)),
            "create_topic \(name)")
    }

    /// The next requests of this kind fail with these errors, one each, in this order.
    ///
    /// - Parameter names: librdkafka's, `NOT_COORDINATOR`; `_TRANSPORT` closes the connection.
    public func pushErrors(_ request: Request, _ names: [String]) throws(KafkaError) {
        var codes: [rd_kafka_resp_err_t] = []
        for name in names {
            guard let code = Self.codes[name] else { throw .configuration("librdkafka has no error \(name)") }
            codes.append(code)
        }
        rd_kafka_mock_push_request_errors_array(pointers.cluster, request.key, codes.count, &codes)
    }

    /// Drops the errors still pending for requests of this kind.
    public func clearErrors(_ request: Request) {
        rd_kafka_mock_clear_request_errors(pointers.cluster, request.key)
    }

    /// - Parameter id: from 1.
    public func setBrokerDown(_ id: Int) throws(KafkaError) {
        try check(rd_kafka_mock_broker_set_down(pointers.cluster, Int32(clamping: id)), "set_broker_down")
    }

    public func setBrokerUp(_ id: Int) throws(KafkaError) {
        try check(rd_kafka_mock_broker_set_up(pointers.cluster, Int32(clamping: id)), "set_broker_up")
    }

    private func check(_ code: rd_kafka_resp_err_t, _ operation: String) throws(KafkaError) {
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { throw KafkaError(code, operation: operation) }
    }

    private static let codes: [String: rd_kafka_resp_err_t] = {
        var descriptions: UnsafePointer<rd_kafka_err_desc>?
        var count = 0
        rd_kafka_get_err_descs(&descriptions, &count)
        var codes: [String: rd_kafka_resp_err_t] = [:]
        for description in UnsafeBufferPointer(start: descriptions, count: count) {
            if let name = description.name { codes[String(cString: name)] = description.code }
        }
        return codes
    }()
}
