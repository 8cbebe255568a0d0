import CRDKafka

/// A producer, transactional when it has a `transactionalID`. One thread owns it, and every callback runs inside a call
/// of that thread.
///
/// Its settings, in order of precedence: what exactly-once fixes (idempotence, murmur2), the user's,
/// ``ClientSettings/producerDefaults``. After a fatal error (``fatalError``) close it and create a new one.
public struct Producer: ~Copyable {
    let handle: ClientHandle
    var topics: ProducerTopics
    let isTransactional: Bool
    /// How many EndTxn requests had been sent when the latest transaction began.
    var endsBefore = 0
    /// Whether a request that ends a transaction, or carries its offsets, was sent more than once, so that a copy may
    /// still be in flight.
    ///
    /// After a successful commit or abort, close such a producer and create a new one with the same id: the broker
    /// rejects the copy because of the new epoch. In a later transaction of this producer it would do damage
    /// (docs/kafka.md 4).
    public internal(set) var hasRepeatedRequests = false

    /// - Parameters:
    ///   - reportsEach: whether ``takeReports()`` tells of each record; then ``takeFailures()`` tells of none.
    ///   - sink: receives librdkafka's log lines, on librdkafka's threads.
    /// - Throws: `.configuration`. An unreachable broker is reported later, by ``takeErrors()``.
    public init(
        settings: Settings, transactionalID: String? = nil, reportsEach: Bool = false,
        logger sink: @escaping ClientLog.Sink = { _ in }
    ) throws(KafkaError) {
        var fixed = ClientSettings.producerFixed
        if reportsEach { fixed["delivery.report.only.error"] = "false" }
        var defaults = ClientSettings.producerDefaults
        if let transactionalID {
            fixed["transactional.id"] = transactionalID
            defaults.merge(ClientSettings.transactionDefaults) { $1 }
        }
        let handle = try ClientHandle(
            .producer,
            settings: ClientSettings.merged(fixed: fixed, user: settings, defaults: defaults, for: .producer),
            callbacks: ClientCallbacks(sink: sink))
        if reportsEach { handle.callbacks.reports = [] }
        topics = ProducerTopics(of: handle)
        self.handle = handle
        isTransactional = transactionalID != nil
    }

    /// A handle for producing. Fetches the topic's metadata, for which the first commit would otherwise wait (0.9 s).
    ///
    /// - Throws: `.unknownTopicOrPartition`, `.authorization`, `.timedOut` …; the topic is not created.
    public mutating func topic(_ name: String, timeout: Duration = .seconds(10)) throws(KafkaError) -> ProducerTopic {
        try topics.topic(name, timeout: timeout)
    }

    /// Serves delivery reports and errors.
    public mutating func poll(timeout: Duration) {
        rd_kafka_poll(handle.pointer, timeout.milliseconds)
    }

    /// The records that failed permanently since the last call and, in a transaction, since it began; at most 10,000.
    /// Those that an abort purged are not included. One such record makes its transaction fail.
    ///
    /// The broker refuses whole batches, so the other records of the batch fail with the same error as the bad one:
    /// only a transaction of one record identifies it (docs/kafka.md 20).
    public mutating func takeFailures() -> [DeliveryFailure] {
        if handle.callbacks.failures.isEmpty { return [] }
        defer { handle.callbacks.failures.removeAll(keepingCapacity: true) }
        return handle.callbacks.failures.map { failure in
            var failure = failure
            if !isTransactional, failure.error.recovery == .abortTransaction { failure.error.recovery = .giveUp }
            return failure
        }
    }

    /// What became of each record since the last call, where the producer reports each.
    public mutating func takeReports() -> [DeliveryReport] {
        guard let reports = handle.callbacks.reports, !reports.isEmpty else { return [] }
        handle.callbacks.reports?.removeAll(keepingCapacity: true)
        return reports
    }

    /// The tag for records whose append time or position is wanted: see ``takeAppendTime()`` and ``takeAppendPosition()``.
    public static let timedTag = UInt64.max

    /// When the broker appended the latest record with ``timedTag`` that was delivered since the last call, by the
    /// broker's clock; nil if there was none, or its topic does not have `message.timestamp.type=LogAppendTime`.
    public mutating func takeAppendTime() -> WallTime? {
        handle.callbacks.appended.take()
    }

    /// Where the broker appended the latest record with ``timedTag`` that was delivered since the last call; nil if there
    /// was none.
    public mutating func takeAppendPosition() -> (partition: Int32, offset: Int64)? {
        handle.callbacks.appended.takePosition()
    }

    /// How many bytes of the open transaction, or the latest, the broker acknowledged after half of the transaction
    /// timeout, as keys and values.
    package var acknowledgedLate: Int { handle.callbacks.appended.late.total }

    /// The errors since the last call that no call caused, oldest first; only the latest 100 are kept.
    public mutating func takeErrors() -> [KafkaError] {
        if handle.callbacks.errors.isEmpty { return [] }
        defer { handle.callbacks.errors.removeAll(keepingCapacity: true) }
        return handle.callbacks.errors.map { handle.error($0.code, $0.text) }
    }

    /// The number of records that are not delivered yet.
    public var inFlight: Int { Int(rd_kafka_outq_len(handle.pointer)) }
    public var fatalError: KafkaError? { handle.fatalError }

    /// Waits until every record is delivered or has failed; throws `.timedOut`. A commit flushes by itself.
    public mutating func flush(timeout: Duration) throws(KafkaError) {
        let code = rd_kafka_flush(handle.pointer, timeout.milliseconds)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { throw handle.error(code, operation: "flush") }
    }

    /// Frees the client at once: undelivered records are lost, and an open transaction is left to time out.
    public consuming func close() {}
}
