import KafkaClient
import Streaming

/// A worker's transactional producer with its topics: the sink that the core writes to.
///
/// Each record is tagged with the coordinates of the event it comes from, so that a refused one can be traced to it:
/// ``source`` is that of the events which the core emits next.
struct TransactionOutput: ~Copyable, RecordSink {
    private(set) var producer: Producer
    private let dispatch: ProducerTopic
    private let deadLetters: ProducerTopic
    private let journal: ProducerTopic
    private let journalKey: String
    /// What all journal entries of the process have in common.
    let journalOrigin: JournalEntry
    private var headers: [HeaderView] = []
    var source = SourceKind.orders
    /// Whether dead letters are cut as ``TruncatedDeadLetter`` says.
    var truncatesDeadLetters = false

    /// Makes the producer and fetches the metadata of its topics, so that the first commit does not wait for it.
    ///
    /// - Parameter origin: what all journal entries of the process have in common.
    init(
        configuration: PipelineConfiguration, slot: Slot, origin: JournalEntry, logger: @escaping ClientLog.Sink
    ) throws(KafkaError) {
        var producer = try Producer(
            settings: configuration.transactionSettings,
            transactionalID: slot.transactionalID(group: configuration.groupID), logger: logger)
        let dispatch = try producer.topic(configuration.topics.dispatch)
        let deadLetters = try producer.topic(configuration.topics.deadLetters)
        let journal = try producer.topic(configuration.topics.journal)
        self.producer = producer
        self.dispatch = dispatch
        self.deadLetters = deadLetters
        self.journal = journal
        journalKey = slot.description
        journalOrigin = origin
    }

    mutating func dispatch(
        _ record: DispatchRecord, for notification: Notification, from event: EventRecord
    ) throws(KafkaError) {
        try write(to: dispatch, key: record.key, value: record.value, headers: record.headers, from: event)
    }

    mutating func deadLetter(
        _ letter: DeadLetter, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
        headers: UnsafeBufferPointer<EventHeader>, from event: EventRecord
    ) throws(KafkaError) {
        guard truncatesDeadLetters else {
            return try write(to: deadLetters, key: key, value: value, headers: headers, from: event)
        }
        let cut = TruncatedDeadLetter(key: key, value: value, headers: headers, own: event.headers.count)
        try cut.withHeaders { headers throws(KafkaError) in
            try write(to: deadLetters, key: cut.key, value: cut.value, headers: headers, from: event)
        }
    }

    /// Writes the transaction's record in the journal.
    mutating func journal(_ entry: JournalEntry) throws {
        try producer.produce(
            ProducerRecord(key: Array(journalKey.utf8), value: try entry.json()), to: journal,
            tag: EventTag.none)
    }

    private mutating func write(
        to topic: ProducerTopic, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
        headers: UnsafeBufferPointer<EventHeader>, from event: EventRecord
    ) throws(KafkaError) {
        self.headers.removeAll(keepingCapacity: true)
        for header in headers { self.headers.append(HeaderView(name: header.name, value: header.value)) }
        let tag = EventTag.make(EventCoordinates(SourcePartition(source, event.partition), offset: event.offset))
        try self.headers.withUnsafeBufferPointer { views throws(KafkaError) in
            try producer.produce(to: topic, key: key, value: value, headers: views, tag: tag)
        }
    }
}

extension TransactionOutput {
    mutating func initTransactions(deadline: Duration) throws(KafkaError) {
        try producer.initTransactions(deadline: deadline)
    }

    mutating func beginTransaction() throws(KafkaError) { try producer.beginTransaction() }

    /// Begins to deliver what lingers.
    mutating func deliverSoon() { producer.deliverSoon() }

    mutating func sendOffsets(
        _ offsets: [TopicPartition: CommittedOffset], _ group: borrowing GroupMetadata, deadline: Duration
    ) throws(KafkaError) {
        try producer.sendOffsets(offsets, group, deadline: deadline)
    }

    /// Takes at most the transaction's timeout + 10 s, after which the broker has aborted it anyway.
    mutating func commitTransaction() throws(KafkaError) { try producer.commitTransaction() }

    mutating func abortTransaction() throws(KafkaError) { try producer.abortTransaction() }

    /// A copy of a request may still be in flight, and would corrupt the next transaction.
    var hasRepeatedRequests: Bool { producer.hasRepeatedRequests }

    /// The records of this transaction that were refused permanently since the last call, by the event they come from.
    mutating func takeRefusals() -> [(event: EventCoordinates?, error: KafkaError)] {
        producer.takeFailures().map { (EventTag.coordinates($0.tag), $0.error) }
    }

    /// Waits until everything is delivered.
    ///
    /// - Returns: when the broker appended the journal's record, by its own clock; nil where the topic's timestamps are
    ///   the producers'.
    mutating func deliver(deadline: Duration) throws(KafkaError) -> WallTime? {
        _ = producer.takeAppendTime()
        try producer.flush(timeout: deadline)
        return producer.takeAppendTime()
    }

    /// See ``Producer/acknowledgedLate``.
    var acknowledgedLate: Int { producer.acknowledgedLate }

    mutating func takeErrors() -> [KafkaError] { producer.takeErrors() }

    mutating func poll() { producer.poll(timeout: .zero) }
}

/// An event's coordinates in the 64 bits that travel with a record to its delivery report: 2 for the source, 16 for the
/// partition, 46 for the offset.
enum EventTag {
    /// The tag of a record that comes from no event: the journal's, whose append time is kept.
    static let none = Producer.timedTag

    private static let offsetMask: UInt64 = 1 << 46 - 1

    static func make(_ event: EventCoordinates) -> UInt64 {
        UInt64(event.partition.source.rawValue) << 62
            | UInt64(UInt16(truncatingIfNeeded: event.partition.number)) << 46 | UInt64(event.offset) & offsetMask
    }

    static func coordinates(_ tag: UInt64) -> EventCoordinates? {
        guard tag != none, let source = SourceKind(rawValue: UInt8(tag >> 62)) else { return nil }
        let partition = SourcePartition(source, Int32(tag >> 46 & 0xFFFF))
        return EventCoordinates(partition, offset: Int64(tag & offsetMask))
    }
}
