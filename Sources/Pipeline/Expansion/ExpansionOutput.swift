import DispatchRecords
import Events
import KafkaClient

/// The transactional producer of ``ExpansionWorker``.
struct ExpansionOutput: ~Copyable {
    private var producer: Producer
    private let topic: ProducerTopic
    private let timeout: Duration
    private var headers: [HeaderView] = []
    private var isBegun = false

    /// Makes the producer, fences its predecessor and fetches the metadata of its topic.
    init(_ context: ExpansionContext, logger: @escaping ClientLog.Sink) throws(KafkaError) {
        let configuration = context.configuration
        var producer = try Producer(
            settings: configuration.transactionSettings,
            transactionalID: "\(context.settings.group).\(configuration.instanceID)", logger: logger)
        let topic = try producer.topic(context.settings.target)
        try producer.initTransactions(deadline: .seconds(10))
        self.producer = producer
        self.topic = topic
        timeout = configuration.transactionTimeout
    }

    mutating func begin() throws(KafkaError) {
        guard !isBegun else { return }
        try producer.beginTransaction()
        isBegun = true
    }

    mutating func write(
        key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?, _ headers: UnsafeBufferPointer<EventHeader>
    ) throws(KafkaError) {
        self.headers.removeAll(keepingCapacity: true)
        for header in headers { self.headers.append(HeaderView(name: header.name, value: header.value)) }
        try self.headers.withUnsafeBufferPointer { views throws(KafkaError) in
            try producer.produce(to: topic, key: key, value: value, headers: views)
        }
    }

    mutating func commit(
        _ offsets: [TopicPartition: CommittedOffset], _ group: borrowing GroupMetadata
    ) throws(KafkaError) {
        try begin()
        try producer.sendOffsets(offsets, group, deadline: timeout)
        try producer.commitTransaction()
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
