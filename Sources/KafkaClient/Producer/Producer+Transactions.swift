extension Producer {
    /// Fences predecessors and waits for their transactions to end. Resumes while the error is retriable, up to `deadline`; then it throws that error, and
    /// calling again resumes.
    public mutating func initTransactions(deadline: Duration = .seconds(30)) throws(KafkaError) {}

    public mutating func beginTransaction() throws(KafkaError) {}

    /// Adds the offsets, with their metadata, to the transaction. Retried with identical arguments while retriable.
    public mutating func sendOffsets(
        _ offsets: [TopicPartition: CommittedOffset], _ group: borrowing GroupMetadata,
        deadline: Duration = .seconds(30)
    ) throws(KafkaError) {}

    /// Flushes and commits. After `.retry` call it again, never abort (kafka-rules 5).
    public mutating func commitTransaction(deadline: Duration = .seconds(30)) throws(KafkaError) {}

    /// Waits for one delivery report of the transaction first (kafka-rules 10), then purges and aborts.
    public mutating func abortTransaction(deadline: Duration = .seconds(30)) throws(KafkaError) {}
}
