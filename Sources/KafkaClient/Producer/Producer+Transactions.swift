import CRDKafka

/// Transactions. Every function checks whether an error is fatal, abortable or retriable, in this order
/// (docs/kafka.md 5), and retries a retriable one until its deadline.
///
/// If the outcome of a commit or an abort is unknown (`.timedOut`, `.transport`, a watchdog), finish the call, then
/// close the producer and create a new one with the same id: otherwise a delayed EndTxn may complete a *later*
/// transaction (docs/kafka.md 4). librdkafka hides some unknown outcomes: see ``hasRepeatedRequests``. Only
/// ``Consumer/committed(_:timeout:)`` shows the outcome (docs/kafka.md 17).
extension Producer {
    /// Fences predecessors with the same `transactional.id` and waits for the end of their transactions. Call it once,
    /// before the first transaction.
    ///
    /// - Throws: `.retry` at the deadline: call it again to resume.
    public mutating func initTransactions(deadline: Duration = .seconds(30)) throws(KafkaError) {
        let end = ContinuousClock.now + deadline
        try resume("init_transactions", end) { rd_kafka_init_transactions(handle.pointer, (end - .now).milliseconds) }
    }

    /// Begins a transaction. Drops what an earlier one left in ``takeFailures()``: all its delivery reports have
    /// arrived, and would be taken for this one's.
    public mutating func beginTransaction() throws(KafkaError) {
        rd_kafka_poll(handle.pointer, 0)
        handle.callbacks.failures.removeAll(keepingCapacity: true)
        if let object = rd_kafka_begin_transaction(handle.pointer) {
            throw handle.error(consuming: object, operation: "begin_transaction")
        }
        endsBefore = handle.callbacks.sent.endTransactions
        handle.callbacks.appended.late.count(after: transactionTimeout / 2)
    }

    /// Begins to deliver what lingers, within 1 ms: before a commit, so that it travels while the offsets are sent.
    ///
    /// Not between a record and ``sendOffsets(_:_:deadline:)``, which would then fail with the error of a topic whose
    /// partitions may not be added to the transaction.
    public mutating func deliverSoon() {
        if inFlight > 0 { rd_kafka_flush(handle.pointer, 1) }
    }

    /// Adds the offsets, with their metadata, to the transaction. Retries with the same arguments while the error is
    /// retriable.
    ///
    /// - Parameters:
    ///   - offsets: the *next* offsets to read. Each carries its metadata, at most 4,096 bytes: one with empty metadata
    ///     erases the stored metadata.
    ///   - group: of the generation that consumed the records.
    public mutating func sendOffsets(
        _ offsets: [TopicPartition: CommittedOffset], _ group: borrowing GroupMetadata,
        deadline: Duration = .seconds(30)
    ) throws(KafkaError) {
        let end = ContinuousClock.now + deadline
        let list = PartitionList(offsets)
        let group = group.pointer
        let sentBefore = handle.callbacks.sent.offsetCommits
        do throws(KafkaError) {
            try resume("send_offsets", end) {
                rd_kafka_send_offsets_to_transaction(handle.pointer, list.pointer, group, (end - .now).milliseconds)
            }
        } catch {
            var error = error
            error.topics = Set(offsets.keys.map(\.topic)).sorted()
            error.isOfReading = true
            throw error
        }
        if handle.callbacks.sent.offsetCommits > sentBefore + 1 { hasRepeatedRequests = true }
    }

    /// Delivers what is queued and commits.
    ///
    /// - Parameter deadline: nil: the transaction timeout + 10 s (docs/kafka.md 11), by which the broker has aborted it
    ///   anyway. librdkafka's own "remaining transaction timeout" (-1) is no limit: if the broker is gone, such a call
    ///   never returns. A shorter deadline is for a caller that then closes the client.
    /// - Throws: `.retry` at the deadline: call it again or close the client, never abort. `.abortTransaction` when a
    ///   record failed: see ``takeFailures()``.
    public mutating func commitTransaction(deadline: Duration? = nil) throws(KafkaError) {
        let end = ContinuousClock.now + (deadline ?? longestCall)
        deliverBeforeCommit()
        try resume("commit_transaction", end) {
            rd_kafka_commit_transaction(handle.pointer, (end - .now).milliseconds)
        }
        noteRepeatedEnds()
    }

    /// Delivers what is queued; the commit itself waits for what takes longer. It would look for reports each 10 ms only,
    /// and wakes the senders once: what belongs to a partition that the transaction gets after that would wait for
    /// `linger.ms` (docs/kafka.md 24).
    private mutating func deliverBeforeCommit() {
        let end = ContinuousClock.now + .milliseconds(200)
        while inFlight > 0, fatalError == nil, .now < end { rd_kafka_flush(handle.pointer, 1) }
    }

    /// Aborts. Undelivered records are purged and sent offsets are discarded; the consumer is not rewound.
    ///
    /// Delivers what is queued first, as long as deliveries continue. An abort right after the first record makes
    /// librdkafka 2.0.2 send an EndTxn for a transaction that the broker does not know yet, which is fatal
    /// (docs/kafka.md 10), and one that purges records in flight makes the *next* transaction fail with
    /// OUT_OF_ORDER_SEQUENCE_NUMBER. Measured on Kafka 4.3.0, clients of 30 that failed within 3 aborts of 1,000 and of
    /// 20,000 records: 16 and 11 when aborting at once, 4 and 20 after the first delivery report, 0 and 0 after the
    /// last, which costs 20 ms. After a record that failed permanently, the next transaction may fail once with
    /// `.outOfSequence`; its abort repairs the sequence.
    /// - Parameter deadline: as in ``commitTransaction(deadline:)``.
    /// - Throws: `.retry` at the deadline: call it again or close the client.
    public mutating func abortTransaction(deadline: Duration? = nil) throws(KafkaError) {
        let end = ContinuousClock.now + (deadline ?? longestCall)
        deliverBeforeAbort()
        try resume("abort_transaction", end) { rd_kafka_abort_transaction(handle.pointer, (end - .now).milliseconds) }
        noteRepeatedEnds()
    }

    private mutating func noteRepeatedEnds() {
        if handle.callbacks.sent.endTransactions > endsBefore + 1 { hasRepeatedRequests = true }
    }

    private var transactionTimeout: Duration {
        .milliseconds(handle.settings["transaction.timeout.ms"].flatMap(Int.init) ?? 60_000)
    }

    private var longestCall: Duration { transactionTimeout + .seconds(10) }

    /// Serves delivery reports until all have arrived, or none has for half a second: after an abortable error
    /// librdkafka sends no more records.
    private mutating func deliverBeforeAbort() {
        var left = inFlight
        var patience = ContinuousClock.now + .milliseconds(500)
        while left > 0, fatalError == nil, .now < patience {
            rd_kafka_poll(handle.pointer, 2)
            let now = inFlight
            if now < left { patience = .now + .milliseconds(500) }
            left = now
        }
    }

    private func resume(
        _ operation: String, _ deadline: ContinuousClock.Instant, _ call: () -> OpaquePointer?
    ) throws(KafkaError) {
        while let object = call() {
            let error = handle.error(consuming: object, operation: operation)
            guard error.recovery == .retry, .now < deadline else { throw error }
            // Some calls fail with a retriable error at once: this keeps the loop from spinning, and serves delivery
            // reports.
            rd_kafka_poll(handle.pointer, 10)
        }
    }
}
