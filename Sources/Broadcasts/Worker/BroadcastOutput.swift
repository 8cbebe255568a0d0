import DispatchRecords
import Events
import KafkaClient
import NotificationPayload
import Pipeline

/// A worker's transactional producer with its topics: the sink of the core.
struct BroadcastOutput: ~Copyable, BroadcastSink {
    private var producer: Producer
    private let dispatch: ProducerTopic
    private let deadLetters: ProducerTopic
    private let journal: ProducerTopic
    private let slot: String
    private let timeout: Duration
    private var headers: [HeaderView] = []
    private var text = ByteWriter()
    private var isBegun = false
    /// Whether the transaction's end is unknown after an error.
    private(set) var isEndUnknown = false

    /// Makes the producer, fences its predecessor and fetches the metadata of its topics.
    ///
    /// - Parameter slot: `<instance.id>-<n>`.
    init(_ context: BroadcastContext, slot: String, logger: @escaping ClientLog.Sink) throws(KafkaError) {
        let configuration = context.configuration
        var producer = try Producer(
            settings: configuration.transactionSettings, transactionalID: "\(context.group).\(slot)", logger: logger)
        let dispatch = try producer.topic(configuration.topics.broadcastDispatch)
        let deadLetters = try producer.topic(configuration.topics.deadLetters)
        let journal = try producer.topic(configuration.topics.broadcastJournal)
        try producer.initTransactions(deadline: .seconds(10))
        self.producer = producer
        self.dispatch = dispatch
        self.deadLetters = deadLetters
        self.journal = journal
        self.slot = slot
        timeout = configuration.transactionTimeout
    }

    mutating func dispatch(_ record: DispatchRecord) throws(KafkaError) {
        try write(to: dispatch, key: record.key, value: record.value, headers: record.headers)
    }

    mutating func deadLetter(
        key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?, headers: UnsafeBufferPointer<EventHeader>
    ) throws(KafkaError) {
        try write(to: deadLetters, key: key, value: value, headers: headers)
    }

    private mutating func write(
        to topic: ProducerTopic, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
        headers: UnsafeBufferPointer<EventHeader>
    ) throws(KafkaError) {
        try begin()
        self.headers.removeAll(keepingCapacity: true)
        for header in headers { self.headers.append(HeaderView(name: header.name, value: header.value)) }
        try self.headers.withUnsafeBufferPointer { views throws(KafkaError) in
            try producer.produce(to: topic, key: key, value: value, headers: views)
        }
    }

    /// Begins the transaction unless it has begun.
    private mutating func begin() throws(KafkaError) {
        guard !isBegun else { return }
        isEndUnknown = false
        try producer.beginTransaction()
        isBegun = true
    }

    /// Writes the journal's record, and commits.
    ///
    /// - Throws: an error after which the transaction is to be aborted, or the producer to be replaced.
    mutating func commit(
        _ offsets: [TopicPartition: CommittedOffset], _ entry: BroadcastJournalEntry, _ group: borrowing GroupMetadata
    ) throws(KafkaError) {
        try begin()
        text.removeAll()
        entry.append(to: &text)
        try producer.produce(ProducerRecord(key: Array(slot.utf8), value: Array(text.bytes)), to: journal)
        try producer.sendOffsets(offsets, group, deadline: timeout)
        do throws(KafkaError) {
            try producer.commitTransaction()
        } catch {
            isEndUnknown = error.recovery != .abortTransaction
            throw error
        }
        isBegun = false
    }

    mutating func abort() throws(KafkaError) {
        guard isBegun else { return }
        try producer.abortTransaction()
        isBegun = false
    }

    mutating func poll() { producer.poll(timeout: .zero) }

    mutating func takeErrors() -> [KafkaError] { producer.takeErrors() }

    /// A copy of a request may still be in flight, and would corrupt the next transaction (docs/kafka.md 4).
    var hasRepeatedRequests: Bool { producer.hasRepeatedRequests }

    /// Why the broker refused a record, if it did and always would.
    mutating func takeRefusal() -> KafkaError? {
        producer.takeFailures().lazy.map(\.error).first { $0.kind.isOfRecord }
    }
}
