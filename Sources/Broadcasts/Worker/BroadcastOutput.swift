import KafkaClient
import Pipeline
import Streaming

/// A worker's transactional producer with its topics: the sink of the core.
struct BroadcastOutput: ~Copyable, BroadcastSink {
    var transaction: LazyTransaction
    private let dispatch: ProducerTopic
    private let deadLetters: ProducerTopic
    private let journal: ProducerTopic
    private let slot: String
    private var headers: [HeaderView] = []
    /// Whether dead letters are cut as ``TruncatedDeadLetter`` says.
    var truncatesDeadLetters = false

    /// Makes the producer, fetches the metadata of its topics and fences its predecessor.
    ///
    /// - Parameters:
    ///   - slot: `<instance.id>-<n>`.
    ///   - number: n.
    init(_ context: BroadcastContext, slot: String, number: Int, logger: @escaping ClientLog.Sink) throws(KafkaError) {
        let topics = context.configuration.topics
        var transaction = try LazyTransaction(
            settings: context.configuration.transactionSettings, id: "\(context.group).\(slot)",
            timeout: context.configuration.transactionTimeout, host: context.host, worker: number,
            of: "worker \(slot)", logger: logger)
        let dispatch = try transaction.topic(topics.broadcastDispatch)
        let deadLetters = try transaction.topic(topics.deadLetters)
        let journal = try transaction.topic(topics.broadcastJournal)
        try transaction.fencePredecessor()
        self.transaction = transaction
        self.dispatch = dispatch
        self.deadLetters = deadLetters
        self.journal = journal
        self.slot = slot
    }

    mutating func dispatch(_ record: DispatchRecord) throws(KafkaError) {
        try write(to: dispatch, key: record.key, value: record.value, headers: record.headers)
    }

    mutating func deadLetter(
        key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?, headers: UnsafeBufferPointer<EventHeader>,
        own: Int
    ) throws(KafkaError) {
        guard truncatesDeadLetters else {
            return try write(to: deadLetters, key: key, value: value, headers: headers)
        }
        let cut = TruncatedDeadLetter(key: key, value: value, headers: headers, own: own)
        try cut.withHeaders { headers throws(KafkaError) in
            try write(to: deadLetters, key: cut.key, value: cut.value, headers: headers)
        }
    }

    private mutating func write(
        to topic: ProducerTopic, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
        headers: UnsafeBufferPointer<EventHeader>
    ) throws(KafkaError) {
        self.headers.removeAll(keepingCapacity: true)
        for header in headers { self.headers.append(HeaderView(name: header.name, value: header.value)) }
        try self.headers.withUnsafeBufferPointer { views throws(KafkaError) in
            try transaction.write(to: topic, key: key, value: value, headers: views)
        }
    }

    /// See ``LazyTransaction/brokerTime(by:in:)``.
    mutating func brokerTime(by entry: [UInt8]) throws(KafkaError) -> WallTime? {
        try transaction.brokerTime(by: ProducerRecord(key: Array(slot.utf8), value: entry), in: journal)
    }

    /// Writes the journal's record, and commits.
    ///
    /// - Throws: an error after which the transaction is to be aborted, or the producer to be replaced.
    mutating func commit(
        _ offsets: [TopicPartition: CommittedOffset], journal entry: [UInt8], _ group: borrowing GroupMetadata
    ) throws(KafkaError) {
        try transaction.write(ProducerRecord(key: Array(slot.utf8), value: entry), to: journal)
        try transaction.commit(offsets, group)
    }
}
