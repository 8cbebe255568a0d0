import KafkaClient

/// What a worker reaches a cluster with: librdkafka's clients, or those of a simulated broker.
package protocol Clients: Sendable {
    /// Joins the group, with a data queue for each input.
    func member(_ contract: Contract, _ sink: @escaping ClientLog.Sink) throws(KafkaError) -> any MemberClient
        & ~Copyable
    func producer(
        _ contract: Contract, _ sink: @escaping ClientLog.Sink
    ) throws(KafkaError) -> any TransactionalProducer & ~Copyable
    /// Joins no group; its owner assigns.
    ///
    /// - Parameters:
    ///   - passes: see `Consumer.passes`.
    ///   - onPassing: see `Consumer.onPassing`.
    func reader(
        _ settings: Settings, passes: [TopicPartition: [ClosedRange<Int64>]],
        onPassing: @escaping @Sendable (RecordPosition?) -> Void, _ sink: @escaping ClientLog.Sink
    ) throws(KafkaError) -> any ReadingClient & ~Copyable
    /// Reads with a client of its own; see `TopicReader.read`.
    func read(
        from starts: [TopicPartition: Offset], to ends: [TopicPartition: Offset], _ settings: Settings,
        _ sink: @escaping ClientLog.Sink, take: (borrowing RecordBatch) throws -> Void
    ) throws
    /// Asks with a client of its own.
    func endOffsets(
        _ partitions: [TopicPartition], _ settings: Settings, _ sink: @escaping ClientLog.Sink
    ) throws(KafkaError) -> [TopicPartition: Offset]
    /// A client that reads single partitions; see `PartitionReader`.
    func reader(
        _ settings: Settings, _ signal: QueueSignal, _ sink: @escaping ClientLog.Sink
    ) throws(KafkaError) -> any PartitionClient & ~Copyable
}

/// librdkafka's.
package struct KafkaClients: Clients {
    package init() {}

    package func member(_ contract: Contract, _ sink: @escaping ClientLog.Sink) throws(KafkaError) -> any MemberClient
        & ~Copyable
    {
        var consumer = try Consumer(
            settings: contract.memberSettings, group: contract.group,
            instance: contract.isStatic ? contract.slot.groupInstanceID(group: contract.group) : nil,
            queuesOf: contract.inputs, isCoPartitioned: contract.isCoPartitioned, signal: contract.signal, logger: sink)
        consumer.passes = contract.passes
        consumer.onPassing = contract.onPassing
        try consumer.subscribe(to: contract.inputs)
        return consumer
    }

    package func producer(
        _ contract: Contract, _ sink: @escaping ClientLog.Sink
    ) throws(KafkaError) -> any TransactionalProducer & ~Copyable {
        try Producer(
            settings: contract.transactionSettings,
            transactionalID: contract.slot.transactionalID(group: contract.group), logger: sink)
    }

    package func reader(
        _ settings: Settings, passes: [TopicPartition: [ClosedRange<Int64>]],
        onPassing: @escaping @Sendable (RecordPosition?) -> Void, _ sink: @escaping ClientLog.Sink
    ) throws(KafkaError) -> any ReadingClient & ~Copyable {
        var consumer = try Consumer(assigning: settings, logger: sink)
        consumer.passes = passes
        consumer.onPassing = onPassing
        return consumer
    }

    package func read(
        from starts: [TopicPartition: Offset], to ends: [TopicPartition: Offset], _ settings: Settings,
        _ sink: @escaping ClientLog.Sink, take: (borrowing RecordBatch) throws -> Void
    ) throws {
        var reader = try Consumer(assigning: settings, logger: sink)
        try TopicReader.read(from: starts, to: ends, with: &reader, take: take)
    }

    package func endOffsets(
        _ partitions: [TopicPartition], _ settings: Settings, _ sink: @escaping ClientLog.Sink
    ) throws(KafkaError) -> [TopicPartition: Offset] {
        try Consumer(assigning: settings, logger: sink).endOffsets(partitions, timeout: .seconds(10))
    }

    package func reader(
        _ settings: Settings, _ signal: QueueSignal, _ sink: @escaping ClientLog.Sink
    ) throws(KafkaError) -> any PartitionClient & ~Copyable {
        try PartitionReader(settings: settings, signal: signal, logger: sink)
    }
}

/// What reads; see `Consumer`. All is mutating: what only borrows cannot be called on an `any` of it (Swift 6.3).
package protocol ReadingClient: ~Copyable {
    mutating func nextEvent(timeout: Duration) -> ConsumerEvent?
    mutating func assign(_ positions: [TopicPartition: Offset]) throws(KafkaError)
    mutating func fill(_ batch: inout RecordBatch, from number: Int, limit: Int, maxBytes: Int, timeout: Duration)
    mutating func startOffsets(
        _ partitions: [TopicPartition], timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: Offset]
    mutating func endOffsets(
        _ partitions: [TopicPartition], timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: Offset]
    mutating func highWatermarks(_ partitions: [TopicPartition]) -> [TopicPartition: Offset]
    mutating func partitionCount(of topic: String, timeout: Duration) throws(KafkaError) -> Int
}

/// A member of a group.
package protocol MemberClient: ReadingClient, ~Copyable {
    var fatalError: KafkaError? { mutating get }
    var assignment: [TopicPartition] { mutating get }
    mutating func unassign() throws(KafkaError)
    mutating func seek(to positions: [TopicPartition: Offset], timeout: Duration) throws(KafkaError)
    mutating func groupMetadata() throws(KafkaError) -> GroupMetadata
    mutating func leave(timeout: Duration)

    mutating func waitingRecords(in queue: Int) -> Int
    mutating func waitForRecords(in numbers: [Int]?, timeout: Duration)

    mutating func committed(
        _ partitions: [TopicPartition], timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: CommittedOffset]
    mutating func offsets(
        at times: [TopicPartition: WallTime], timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: Offset]
    mutating func commit(_ offsets: [TopicPartition: CommittedOffset], timeout: Duration) throws(KafkaError)
}

/// A producer with a transactional id; see `Producer`.
package protocol TransactionalProducer: ~Copyable {
    var hasRepeatedRequests: Bool { mutating get }
    var acknowledgedLate: Int { mutating get }
    mutating func topic(_ name: String, timeout: Duration) throws(KafkaError) -> ProducerTopic
    mutating func initTransactions(deadline: Duration) throws(KafkaError)
    mutating func beginTransaction() throws(KafkaError)
    mutating func produce(
        to topic: ProducerTopic, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
        headers: UnsafeBufferPointer<HeaderView>, partition: Int32?, timestamp: WallTime?, tag: UInt64
    ) throws(KafkaError)
    mutating func produce(_ record: ProducerRecord, to topic: ProducerTopic, tag: UInt64) throws(KafkaError)
    mutating func deliverSoon()
    mutating func flush(timeout: Duration) throws(KafkaError)
    mutating func sendOffsets(
        _ offsets: [TopicPartition: CommittedOffset], _ group: borrowing GroupMetadata, deadline: Duration
    ) throws(KafkaError)
    mutating func commitTransaction(deadline: Duration?) throws(KafkaError)
    mutating func abortTransaction(deadline: Duration?) throws(KafkaError)
    mutating func poll(timeout: Duration)
    mutating func takeErrors() -> [KafkaError]
    mutating func takeFailures() -> [DeliveryFailure]
    mutating func takeAppendTime() -> WallTime?
    mutating func takeAppendPosition() -> (partition: Int32, offset: Int64)?
}

/// A reader of single partitions; see `PartitionReader`.
package protocol PartitionClient: ~Copyable {
    mutating func start(_ partition: TopicPartition, at offset: Int64) throws(KafkaError)
    mutating func stop(_ partition: TopicPartition)
    mutating func fill(_ batch: inout RecordBatch, from partition: TopicPartition, limit: Int)
}

extension Consumer: MemberClient {}
extension Producer: TransactionalProducer {}
extension PartitionReader: PartitionClient {}
