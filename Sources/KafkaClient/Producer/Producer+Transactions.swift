import CRDKafka

/// Transactions. Every function asks an error the three questions in their order (kafka-rules 5), and calls librdkafka again while the answer is "retriable", up to its deadline.
///
/// After an outcome of commit or abort that is not known (`.timedOut`, `.transport`, a watchdog), finish the call, then close the producer and make a new one with the same id: a delayed EndTxn may
/// otherwise complete a *later* transaction (kafka-rules 4). Only ``Consumer/committed(_:timeout:)`` tells what became of it (kafka-rules 17).
extension Producer {
    /// Fences predecessors with the same `transactional.id` and waits for the end of their transactions. Once, before the first transaction.
    ///
    /// - Throws: `.retry` at the deadline; calling it again resumes.
    public mutating func initTransactions(deadline: Duration = .seconds(30)) throws(KafkaError) {
        let end = Deadline(after: deadline)
        try resume("init_transactions", end) { rd_kafka_init_transactions(handle.pointer, end.remaining.milliseconds) }
    }

    public mutating func beginTransaction() throws(KafkaError) {
        if let object = rd_kafka_begin_transaction(handle.pointer) {
            throw handle.error(consuming: object, operation: "begin_transaction")
        }
        producedInTransaction = 0
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
        let end = Deadline(after: deadline)
        let list = PartitionList(offsets)
        let (offsets, group) = (list.pointer, group.pointer)
        try resume("send_offsets", end) {
            rd_kafka_send_offsets_to_transaction(handle.pointer, offsets, group, end.remaining.milliseconds)
        }
    }

    /// Delivers what is queued and commits. One call of librdkafka may take what is left of `transaction.timeout.ms`, whatever the deadline is.
    ///
    /// - Throws: `.retry` at the deadline: call it again, never abort. `.abortTransaction` when a record failed: see ``takeFailures()``.
    public mutating func commitTransaction(deadline: Duration = .seconds(30)) throws(KafkaError) {
        try resume("commit_transaction", Deadline(after: deadline)) { rd_kafka_commit_transaction(handle.pointer, -1) }
    }

    /// Aborts. What is queued is purged; offsets that were sent are forgotten; the consumer is not rewound.
    ///
    /// Waits for one delivery report of the transaction first, because an abort at once after the first record makes librdkafka 2.0.2 send an EndTxn for a transaction that the broker does not know
    /// yet, which is fatal (kafka-rules 10). Reports of success are switched off, so a report is: fewer records in flight than were produced.
    /// - Throws: `.retry` at the deadline: call it again.
    public mutating func abortTransaction(deadline: Duration = .seconds(30)) throws(KafkaError) {
        let end = Deadline(after: deadline)
        let firstReport = Deadline(after: min(deadline, .seconds(5)))
        while inFlight >= producedInTransaction, producedInTransaction > 0, fatalError == nil, !firstReport.isOver {
            rd_kafka_poll(handle.pointer, 2)
        }
        try resume("abort_transaction", end) { rd_kafka_abort_transaction(handle.pointer, -1) }
        producedInTransaction = 0
    }

    private func resume(
        _ operation: String, _ deadline: Deadline, _ call: () -> OpaquePointer?
    ) throws(KafkaError) {
        while let object = call() {
            let error = handle.error(consuming: object, operation: operation)
            guard error.recovery == .retry, !deadline.isOver else { throw error }
            // Some are retriable at once; this keeps the loop from spinning, and serves reports meanwhile.
            rd_kafka_poll(handle.pointer, 10)
        }
    }
}
