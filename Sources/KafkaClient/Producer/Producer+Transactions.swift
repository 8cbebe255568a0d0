import CRDKafka

/// Transactions. Every function asks an error the three questions in their order (kafka-rules 5), and calls librdkafka again while the answer is "retriable", up to its deadline.
///
/// After an outcome of commit or abort that is not known (`.timedOut`, `.transport`, a watchdog), finish the call, then close the producer and make a new one with the same id: a delayed EndTxn may
/// otherwise complete a *later* transaction (kafka-rules 4). librdkafka hides some of these outcomes: see ``hasRepeatedRequests``. Only ``Consumer/committed(_:timeout:)`` tells what became of it (kafka-rules 17).
extension Producer {
    /// Fences predecessors with the same `transactional.id` and waits for the end of their transactions. Once, before the first transaction.
    ///
    /// - Throws: `.retry` at the deadline; calling it again resumes.
    public mutating func initTransactions(deadline: Duration = .seconds(30)) throws(KafkaError) {
        let end = ContinuousClock.now + deadline
        try resume("init_transactions", end) { rd_kafka_init_transactions(handle.pointer, (end - .now).milliseconds) }
    }

    /// Opens a transaction. What an earlier one left in ``takeFailures()`` is dropped: its reports are all in by now, and would be taken for this one's.
    public mutating func beginTransaction() throws(KafkaError) {
        rd_kafka_poll(handle.pointer, 0)
        handle.callbacks.failures.removeAll(keepingCapacity: true)
        if let object = rd_kafka_begin_transaction(handle.pointer) {
            throw handle.error(consuming: object, operation: "begin_transaction")
        }
        endsBefore = handle.callbacks.sent.endTransactions
    }

    /// Adds the offsets, with their metadata, to the transaction. Tried again with identical arguments while retriable.
    ///
    /// - Parameters:
    ///   - offsets: the *next* offsets to read. Each carries its metadata, at most 4,096 bytes: one without it erases what was there.
    ///   - group: of the generation that consumed the records.
    public mutating func sendOffsets(
        _ offsets: [TopicPartition: CommittedOffset], _ group: borrowing GroupMetadata,
        deadline: Duration = .seconds(30)
    ) throws(KafkaError) {
        let end = ContinuousClock.now + deadline
        let list = PartitionList(offsets)
        let (offsets, group) = (list.pointer, group.pointer)
        let sentBefore = handle.callbacks.sent.offsetCommits
        try resume("send_offsets", end) {
            rd_kafka_send_offsets_to_transaction(handle.pointer, offsets, group, (end - .now).milliseconds)
        }
        if handle.callbacks.sent.offsetCommits > sentBefore + 1 { hasRepeatedRequests = true }
    }

    /// Delivers what is queued and commits.
    ///
    /// - Parameter deadline: nil: the transaction's timeout + 10 s (kafka-rules 11), after which the broker has aborted it anyhow. librdkafka's own "remaining transaction timeout" (-1) is no limit:
    ///   with its broker gone such a call never returned. A shorter one is for a caller that closes the client then.
    /// - Throws: `.retry` at the deadline: call it again or close the client, never abort. `.abortTransaction` when a record failed: see ``takeFailures()``.
    public mutating func commitTransaction(deadline: Duration? = nil) throws(KafkaError) {
        let end = ContinuousClock.now + (deadline ?? longestCall)
        try resume("commit_transaction", end) {
            rd_kafka_commit_transaction(handle.pointer, (end - .now).milliseconds)
        }
        noteRepeatedEnds()
    }

    /// Aborts. What is not delivered is purged; offsets that were sent are forgotten; the consumer is not rewound.
    ///
    /// Delivers what is queued first, for as long as that goes on. An abort at once after the first record makes librdkafka 2.0.2 send an EndTxn for a transaction that the broker does not know yet,
    /// which is fatal (kafka-rules 10); and one that purges records in flight makes the *next* transaction fail with OUT_OF_ORDER_SEQUENCE_NUMBER. Measured on 4.3.0, clients that failed
    /// within 3 aborts of 1,000 and of 20,000 records: aborting at once 16 and 11 of 30, after the first delivery report 4 and 20, after the last 0 and 0; the wait costs 20 ms.
    /// After a record that failed for good, the next transaction may fail once with `.outOfSequence`; its abort heals that.
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

    private var longestCall: Duration {
        .milliseconds(handle.settings["transaction.timeout.ms"].flatMap(Int.init) ?? 60_000) + .seconds(10)
    }

    /// Serves reports until all are in, or none has come for half a second: after an abortable error librdkafka sends no more.
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
            // Some are retriable at once; this keeps the loop from spinning, and serves reports meanwhile.
            rd_kafka_poll(handle.pointer, 10)
        }
    }
}
