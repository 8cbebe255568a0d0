import CRDKafka
import Testing

@testable import KafkaClient

@Suite("Errors")
struct ErrorTests {
    @Test("a refused SCRAM login says that Kafka 4 refuses it from this librdkafka, and what to use")
    func scram() {
        let error = KafkaError(
            RD_KAFKA_RESP_ERR__AUTHENTICATION,
            "sasl_ssl://b:9093/bootstrap: SASL authentication error: refused (after 336ms in state AUTH_REQ)",
            saslMechanism: "SCRAM-SHA-512")
        #expect(error.kind == .authentication)
        #expect(error.recovery == .giveUp)
        #expect(
            error.description == """
                sasl_ssl://b:9093/bootstrap: SASL authentication error: refused. Check sasl.username and sasl.password. With a Kafka 4 broker \
                SCRAM-SHA-512 fails in librdkafka 2.0.2 whatever the password is: use sasl.mechanism=PLAIN over TLS \
                (security.protocol=SASL_SSL) there (_AUTHENTICATION)
                """)
    }

    @Test("a refused PLAIN login does not mention SCRAM")
    func plain() {
        let error = KafkaError(RD_KAFKA_RESP_ERR__AUTHENTICATION, "refused", saslMechanism: "PLAIN")
        #expect(!error.message.contains("SCRAM"))
        #expect(error.message.contains("sasl.password"))
    }

    @Test(
        "a code has its kind and its recovery",
        arguments: [
            (RD_KAFKA_RESP_ERR__TIMED_OUT, .timedOut, .retry), (RD_KAFKA_RESP_ERR__TRANSPORT, .transport, .retry),
            (RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, .allBrokersDown, .retry),
            (RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, .authorization, .giveUp),
            (RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, .unknownTopicOrPartition, .retry),
            (RD_KAFKA_RESP_ERR__FENCED, .fenced, .recreateClient),
            (RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID, .fencedInstanceID, .giveUp),
            (RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, .messageTooLarge, .abortTransaction),
            (RD_KAFKA_RESP_ERR_INVALID_RECORD, .invalidRecord, .abortTransaction),
            (RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP, .invalidRecord, .abortTransaction),
            (RD_KAFKA_RESP_ERR__SSL, .tls, .giveUp),
            (RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET, .offsetOutOfRange, .giveUp),
            (RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED, .maxPollExceeded, .retry),
            (RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID, .unknownMember, .retry),
            (RD_KAFKA_RESP_ERR_NOT_COORDINATOR, .other, .retry),
            (RD_KAFKA_RESP_ERR__BAD_COMPRESSION, .other, .recreateClient),
        ] as [(rd_kafka_resp_err_t, KafkaError.Kind, KafkaError.Recovery)])
    func codes(code: rd_kafka_resp_err_t, kind: KafkaError.Kind, recovery: KafkaError.Recovery) {
        let error = KafkaError(code)
        #expect(error.kind == kind)
        #expect(error.recovery == recovery)
        #expect(!error.message.isEmpty)
        #expect(error.name == String(cString: rd_kafka_err2name(code)))
    }

    @Test("of the reasons why no broker is reached the one that says most is kept, whatever comes later")
    func reasons() {
        let callbacks = ClientCallbacks(sink: { _ in })
        func kind(after code: rd_kafka_resp_err_t) -> KafkaError.Kind? {
            callbacks.noteCause(KafkaError(code))
            return callbacks.recentCause?.kind
        }
        #expect(kind(after: RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) == .allBrokersDown)
        #expect(kind(after: RD_KAFKA_RESP_ERR__TRANSPORT) == .transport)
        #expect(kind(after: RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) == .transport)
        #expect(kind(after: RD_KAFKA_RESP_ERR__SSL) == .tls)
        #expect(kind(after: RD_KAFKA_RESP_ERR__TRANSPORT) == .tls)
        #expect(kind(after: RD_KAFKA_RESP_ERR__AUTHENTICATION) == .authentication)
    }

    @Test("where nobody listens, the advice is not about the ssl settings, although the address names the protocol")
    func refusedConnection() {
        let text = "sasl_ssl://b:9093/bootstrap: Connect to ipv4#10.0.0.1:9093 failed: Connection refused"
        #expect(KafkaError(RD_KAFKA_RESP_ERR__TRANSPORT, text).message == text)
        let broken = "sasl_ssl://b:9093/bootstrap: error:0A000126:SSL routines::unexpected eof while reading"
        #expect(KafkaError(RD_KAFKA_RESP_ERR__TRANSPORT, broken).message.hasSuffix("the ssl settings"))
    }

    @Test("a call that times out says why no broker could be reached")
    func cause() throws {
        var producer = try Producer(settings: ["bootstrap.servers": "127.0.0.1:1"], transactionalID: "id")
        let error = #expect(throws: KafkaError.self) { try producer.initTransactions(deadline: .seconds(2)) }
        #expect(error?.recovery == .retry)
        #expect(error?.kind == .transport || error?.kind == .allBrokersDown)
        #expect(error?.message.contains("127.0.0.1:1") == true, "\(String(describing: error))")
    }
}

@Suite("Errors injected into the mock cluster", .timeLimit(.minutes(30)))
struct InjectedErrorTests {
    /// A transactional producer in the middle of a transaction with one record, which is delivered.
    private func producer(on cluster: MockCluster) throws -> Producer {
        var producer = try Producer(settings: .mock(cluster), transactionalID: "id")
        let topic = try producer.topic("t")
        try producer.initTransactions()
        try producer.beginTransaction()
        try producer.produce(ProducerRecord(key: nil, value: [1]), to: topic)
        try producer.flush(timeout: .seconds(10))
        return producer
    }

    @Test(
        "a commit resumes by itself while its coordinator moves",
        arguments: ["NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS"])
    func retriable(name: String) throws {
        let cluster = try MockCluster()
        var producer = try producer(on: cluster)
        try cluster.pushErrors(.endTransaction, [name, name])
        try producer.commitTransaction()
    }

    @Test(
        "a commit or an abort that was resent reports the copy that may still be in flight",
        arguments: [true, false])
    func repeated(commits: Bool) throws {
        let cluster = try MockCluster()
        var producer = try producer(on: cluster)
        try producer.commitTransaction()
        let before = producer.hasRepeatedRequests
        #expect(!before)
        try producer.beginTransaction()
        try producer.produce(ProducerRecord(key: nil, value: [1]), to: producer.topic("t"))
        try cluster.pushErrors(.endTransaction, ["_TRANSPORT"])
        if commits { try producer.commitTransaction() } else { try producer.abortTransaction() }
        let after = producer.hasRepeatedRequests
        #expect(after)
    }

    @Test("an epoch that the broker refuses at the commit is fatal, and so is every call after it")
    func fatal() throws {
        let cluster = try MockCluster()
        var producer = try producer(on: cluster)
        try cluster.pushErrors(.endTransaction, ["INVALID_PRODUCER_EPOCH"])
        var error = #expect(throws: KafkaError.self) { try producer.commitTransaction() }
        #expect(error?.kind == .fenced)
        #expect(error?.isFatal == true)
        #expect(error?.recovery == .recreateClient)
        error = #expect(throws: KafkaError.self) { try producer.beginTransaction() }
        #expect(error?.recovery == .recreateClient)
        error = #expect(throws: KafkaError.self) { try producer.abortTransaction() }
        #expect(error?.recovery == .recreateClient)
    }

    @Test(
        "a record that the broker refuses is named, its transaction must be aborted, and the next one begins")
    func abortable() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 1)
        var producer = try Producer(settings: .mock(cluster), transactionalID: "id")
        let topic = try producer.topic("t")
        try producer.initTransactions()
        try producer.beginTransaction()
        try cluster.pushErrors(.produce, ["INVALID_RECORD"])
        try producer.produce(ProducerRecord(key: nil, value: [1]), to: topic, tag: 7)
        let error = #expect(throws: KafkaError.self) { try producer.commitTransaction() }
        #expect(error?.recovery == .abortTransaction)
        let failures = producer.takeFailures()
        #expect(failures.map(\.tag) == [7])
        #expect(failures.map(\.error.kind) == [.invalidRecord])
        #expect(failures.map(\.error.recovery) == [.abortTransaction])
        try producer.abortTransaction()
        try producer.beginTransaction()
        #expect(producer.takeFailures().isEmpty)
    }

    @Test("failures that an aborted transaction left untaken are not reported for the next one")
    func failuresOfAnAbort() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 1)
        var producer = try Producer(settings: .mock(cluster), transactionalID: "id")
        let topic = try producer.topic("t")
        try producer.initTransactions()
        try producer.beginTransaction()
        try cluster.pushErrors(.produce, ["INVALID_RECORD"])
        try producer.produce(ProducerRecord(key: nil, value: [1]), to: topic, tag: 7)
        // The delivery report arrives while the abort waits for it.
        try producer.abortTransaction()
        try producer.beginTransaction()
        #expect(producer.takeFailures().isEmpty)
        try producer.produce(ProducerRecord(key: nil, value: [2]), to: topic, tag: 8)
        try cluster.pushErrors(.produce, ["INVALID_RECORD"])
        #expect(throws: KafkaError.self) { try producer.commitTransaction() }
        #expect(producer.takeFailures().map(\.tag) == [8])
    }

    @Test("a record that a failed transaction no longer accepts says why the transaction failed")
    func failedTransaction() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 1)
        var producer = try Producer(settings: .mock(cluster), transactionalID: "id")
        let topic = try producer.topic("t")
        try producer.initTransactions()
        try producer.beginTransaction()
        try cluster.pushErrors(.addPartitionsToTransaction, ["TOPIC_AUTHORIZATION_FAILED"])
        let error = try eventually("a refusal") { () -> KafkaError? in
            do throws(KafkaError) {
                try producer.produce(ProducerRecord(key: nil, value: [1]), to: topic)
                producer.poll(timeout: .milliseconds(20))
                return nil
            } catch {
                return error
            }
        }
        #expect(error.kind == .authorization)
        #expect(error.recovery == .abortTransaction)
        try producer.abortTransaction()
        try producer.beginTransaction()
    }

    @Test("offsets are resent, unchanged, while their coordinator moves")
    func sendOffsets() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 1)
        var consumer = try Consumer(settings: .mock(cluster), group: "g")
        let partitions = try consumer.join(["t"])
        let metadata = try consumer.groupMetadata()
        var producer = try producer(on: cluster)
        try cluster.pushErrors(.transactionOffsetCommit, ["COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR"])
        let before = producer.hasRepeatedRequests
        #expect(!before)
        try producer.sendOffsets([partitions[0]: CommittedOffset(offset: Offset(1), metadata: "w")], metadata)
        let after = producer.hasRepeatedRequests
        #expect(after)
        try producer.commitTransaction()
        consumer.close()
    }

    @Test("a commit whose broker is gone ends at its deadline, and resumes when the broker is back")
    func brokerRestart() throws {
        let cluster = try MockCluster()
        var producer = try producer(on: cluster)
        try cluster.setBrokerDown(1)
        let start = ContinuousClock.now
        let error = #expect(throws: KafkaError.self) { try producer.commitTransaction(deadline: .seconds(2)) }
        #expect(error?.recovery == .retry)
        #expect(start.duration(to: .now) < .seconds(10))
        try cluster.setBrokerUp(1)
        try producer.commitTransaction()
        try producer.beginTransaction()
        try producer.abortTransaction()
    }

    @Test("a producer whose commit never returned is freed in time")
    func freedInCommit() throws {
        let cluster = try MockCluster()
        var producer = try producer(on: cluster)
        try cluster.setBrokerDown(1)
        _ = #expect(throws: KafkaError.self) { try producer.commitTransaction(deadline: .seconds(1)) }
        let start = ContinuousClock.now
        producer.close()
        #expect(start.duration(to: .now) < .seconds(10))
    }
}
