import KafkaClient

extension KafkaError {
    /// Nothing arrives although there is something to read: the consumer is recreated.
    package static var stuckConsumer: KafkaError {
        KafkaError(
            kind: .other, recovery: .recreateClient, of: .member, name: "",
            message: "nothing arrives although there is something to read", operation: "consume")
    }

    /// The last transaction succeeded, but a copy of one of its requests may still reach the broker during the next one.
    package static var repeatedRequest: KafkaError {
        KafkaError(
            kind: .timedOut, recovery: .recreateClient, name: "",
            message: "a request had to be sent again, and its first copy may still be on its way")
    }

    /// The partitions were taken away while a transaction was open: without a membership there is nothing to commit.
    package static var lostAssignment: KafkaError {
        KafkaError(
            kind: .state, recovery: .abortTransaction, name: "", message: "the partitions were taken away",
            operation: "send_offsets")
    }
}
