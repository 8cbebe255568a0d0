import CRDKafka

/// A producer, transactional when it has a `transactionalID`. One thread owns it, and every callback runs inside a call of that thread.
///
/// Its settings: what exactly once fixes (idempotence, murmur2), then the user's, then ``ClientSettings/producerDefaults``. A fatal error (``fatalError``) ends it: close it and make a new one.
public struct Producer: ~Copyable {
    let handle: ClientHandle
    var topics: ProducerTopics
    let isTransactional: Bool
    /// How many EndTxn had been sent when the latest transaction began.
    var endsBefore = 0
    /// Whether a request that ends a transaction, or carries its offsets, was sent more than once, and a copy may still be on its way.
    ///
    /// After a commit or an abort that succeeded, close such a producer and make a new one with the same id, whose epoch shuts the copy out: in a later transaction of this one it
    /// would do damage (kafka-rules 4).
    public internal(set) var hasRepeatedRequests = false

    /// - Parameter sink: gets librdkafka's log lines, on its threads.
    /// - Throws: `.configuration`. A broker that cannot be reached shows later.
    public init(
        settings: Settings, transactionalID: String? = nil, logger sink: @escaping ClientLog.Sink = { _ in }
    ) throws(KafkaError) {
        var fixed = ClientSettings.producerFixed
        var defaults = ClientSettings.producerDefaults
        if let transactionalID {
            fixed["transactional.id"] = transactionalID
            defaults.merge(ClientSettings.transactionDefaults) { $1 }
        }
        let handle = try ClientHandle(
            RD_KAFKA_PRODUCER,
            settings: ClientSettings.merged(fixed: fixed, user: settings, defaults: defaults, for: .producer),
            callbacks: ClientCallbacks(sink: sink))
        topics = ProducerTopics(of: handle)
        self.handle = handle
        isTransactional = transactionalID != nil
    }

    /// A handle for producing. Fetches the topic's metadata, without which the first commit waits for it (0.9 s).
    ///
    /// - Throws: `.unknownTopicOrPartition`, `.authorization`, `.timedOut` …; the topic is not created.
    public mutating func topic(_ name: String, timeout: Duration = .seconds(10)) throws(KafkaError) -> ProducerTopic {
        try topics.topic(name, timeout: timeout)
    }

    /// Serves delivery reports, errors and statistics.
    public mutating func poll(timeout: Duration) {
        rd_kafka_poll(handle.pointer, timeout.milliseconds)
    }

    /// The records that failed for good since the last call, in a transaction also since its begin; at most 10,000; those that an abort purged are not among them. One such record makes its transaction fail.
    ///
    /// The broker refuses whole batches, so the neighbours of a bad record fail with it and with the same error: a transaction of one record tells which it was (kafka-rules 20).
    public mutating func takeFailures() -> [DeliveryFailure] {
        if handle.callbacks.failures.isEmpty { return [] }
        defer { handle.callbacks.failures.removeAll(keepingCapacity: true) }
        return handle.callbacks.failures.map { failure in
            var failure = failure
            if !isTransactional, failure.error.recovery == .abortTransaction { failure.error.recovery = .giveUp }
            return failure
        }
    }

    /// Of a transactional producer's records with this tag the broker's time is kept: see ``takeAppendTime()``.
    public static let timedTag = UInt64.max

    /// When the broker appended the latest record with ``timedTag`` that was delivered since the last call, by its own clock;
    /// nil where none was, or its topic has not `message.timestamp.type=LogAppendTime`.
    public mutating func takeAppendTime() -> Timestamp? {
        handle.callbacks.appended.take().map(Timestamp.init(milliseconds:))
    }

    /// Errors that came by themselves since the last call, the latest last; at most 100 are kept.
    public mutating func takeErrors() -> [KafkaError] {
        if handle.callbacks.errors.isEmpty { return [] }
        defer { handle.callbacks.errors.removeAll(keepingCapacity: true) }
        return handle.callbacks.errors.map { handle.error($0.code, $0.text) }
    }

    /// The latest statistics since the last call.
    public mutating func takeStatistics() -> ClientStatistics? {
        defer { handle.callbacks.statistics = nil }
        return handle.callbacks.statistics.flatMap(ClientStatistics.init(json:))
    }

    /// Records that are not delivered yet.
    public var inFlight: Int { Int(rd_kafka_outq_len(handle.pointer)) }
    public var fatalError: KafkaError? { handle.fatalError }

    /// Waits until all is delivered or has failed; throws `.timedOut`. A commit flushes by itself.
    public mutating func flush(timeout: Duration) throws(KafkaError) {
        let code = rd_kafka_flush(handle.pointer, timeout.milliseconds)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { throw handle.error(code, operation: "flush") }
    }

    /// Frees everything at once; what is not delivered is lost, and an open transaction is left to its timeout.
    public consuming func close() {}
}
