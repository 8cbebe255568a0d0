import KafkaClient
import Streaming

/// A transactional producer of the simulated broker.
struct SimulatedProducer: ~Copyable, TransactionalProducer {
    private let process: SimulatedProcess
    private let id: String
    private let timeout: Duration
    private var epoch = 0
    private var producer = 0
    private var transaction = 0
    private var topics: [ProducerTopic] = []
    /// What was not delivered yet.
    private var queue: [(partition: TopicPartition, record: ProducerRecord, isTimed: Bool)] = []
    /// The broker knows of the transaction.
    private var isKnown = false
    private var failure: KafkaError?
    private(set) var hasRepeatedRequests = false
    var acknowledgedLate: Int { 0 }
    private var appended: (partition: Int32, offset: Int64)?

    private var kafka: SimulatedKafka { process.kafka }
    private var baton: Baton { process.kafka.baton }

    init(_ process: SimulatedProcess, _ contract: Contract) {
        self.process = process
        id = contract.slot.transactionalID(group: contract.group)
        timeout = contract.transactionTimeout
    }

    mutating func topic(_ name: String, timeout: Duration) throws(KafkaError) -> ProducerTopic {
        try request("topic", timeout)
        let topic = ProducerTopic(
            name: name, partitionCount: Int32(kafka.partitions(of: name).count), index: topics.count, producer: 0)
        topics.append(topic)
        return topic
    }

    private mutating func request(_ operation: String, _ deadline: Duration) throws(KafkaError) {
        if let failure { throw failure }
        if baton.isOne(of: kafka.faults.failedProducer) { try fail(.failed(.producer, operation)) }
        if process.isDead { try fail(.failed(.producer, operation)) }
        try process.request(operation, of: .producer, deadline: deadline)
    }

    private mutating func fail(_ error: KafkaError) throws(KafkaError) {
        failure = error
        throw error
    }

    mutating func initTransactions(deadline: Duration) throws(KafkaError) {
        let end = baton.now + deadline
        while true {
            try request("init_transactions", end - baton.now)
            let (answer, epoch) = kafka.initialize(id)
            let isLost = baton.isOne(of: kafka.faults.lostAnswer)
            if !isLost, case .done = answer {
                self.epoch = epoch
                return
            }
            guard baton.now < end else { throw .unanswered(.producer, "init_transactions") }
            process.pause(baton.milliseconds(5...30))
        }
    }

    mutating func beginTransaction() throws(KafkaError) {
        if let failure { throw failure }
    }

    // MARK: Records

    mutating func produce(
        to topic: ProducerTopic, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
        headers: UnsafeBufferPointer<HeaderView>, partition: Int32?, timestamp: WallTime?, tag: UInt64
    ) throws(KafkaError) {
        let record = ProducerRecord(
            key: key.map { Array($0) }, value: value.map { Array($0) },
            headers: headers.map { header in
                RecordHeader(String(decoding: header.name, as: UTF8.self), header.value.map { Array($0) })
            }, partition: partition, timestamp: timestamp)
        try produce(record, to: topic, tag: tag)
    }

    mutating func produce(_ record: ProducerRecord, to topic: ProducerTopic, tag: UInt64) throws(KafkaError) {
        if let failure { throw failure }
        let partition = record.partition ?? Murmur2.partition(of: record.key ?? [], count: topic.partitionCount)
        queue.append((TopicPartition(topic: topic.name, partition: partition), record, tag == Producer.timedTag))
    }

    /// The transaction gets these partitions at the broker.
    private mutating func add(
        _ partitions: Set<TopicPartition>, hasOffsets: Bool, _ operation: String, _ deadline: Duration
    ) throws(KafkaError) {
        let end = baton.now + deadline
        while true {
            try request(operation, end - baton.now)
            let (answer, producer, transaction) = kafka.add(
                partitions, hasOffsets: hasOffsets, to: id, epoch, timeout: timeout)
            switch answer {
            case .done, .invalid:
                isKnown = true
                self.producer = producer
                self.transaction = transaction
                return
            case .busy:
                guard baton.now < end else { throw .unanswered(.producer, operation) }
                process.pause(.milliseconds(10))
            case .fenced: try fail(.fenced(operation))
            }
        }
    }

    private mutating func deliver(_ operation: String, _ deadline: Duration) throws(KafkaError) {
        if let failure { throw failure }
        guard !queue.isEmpty else { return }
        try add(Set(queue.map(\.partition)), hasOffsets: false, operation, deadline)
        // Some may be delivered all the same.
        let isWhole = !baton.isOne(of: kafka.faults.abortable)
        let delivered = isWhole ? queue.count : baton.draw(0...queue.count - 1)
        defer { queue = [] }
        for record in queue.prefix(delivered) {
            let offset = kafka.append(record.record, to: record.partition, by: producer, in: transaction)
            if record.isTimed { appended = (record.partition.partition, Int64(offset)) }
        }
        if !isWhole { try fail(.mustAbort(operation, "a record was not delivered")) }
    }

    mutating func deliverSoon() { try? deliver("produce", .milliseconds(1)) }

    mutating func flush(timeout: Duration) throws(KafkaError) { try deliver("flush", timeout) }

    mutating func poll(timeout: Duration) {
        if !queue.isEmpty, baton.isOne(of: 4) { deliverSoon() }
    }

    mutating func takeErrors() -> [KafkaError] { [] }
    mutating func takeFailures() -> [DeliveryFailure] { [] }
    mutating func takeAppendTime() -> WallTime? { nil }
    mutating func takeAppendPosition() -> (partition: Int32, offset: Int64)? {
        defer { appended = nil }
        return appended
    }

    // MARK: The end

    mutating func sendOffsets(
        _ offsets: [TopicPartition: CommittedOffset], _ group: borrowing GroupMetadata, deadline: Duration
    ) throws(KafkaError) {
        try add([], hasOffsets: true, "send_offsets", deadline)
        let (member, generation) = kafka.memberships[group.number]
        guard kafka.group.accepts(member, generation), !baton.isOne(of: kafka.faults.abortable) else {
            return try fail(.mustAbort("send_offsets", "the generation is over, or the offsets are refused"))
        }
        kafka.send(offsets, by: producer)
        guard baton.isOne(of: kafka.faults.copy) else { return }
        hasRepeatedRequests = true
        let (kafka, id, epoch, producer) = (kafka, id, epoch, producer)
        baton.after(baton.milliseconds(0...20_000)) {
            if kafka.takesOffsets(id, epoch), kafka.group.accepts(member, generation) {
                kafka.send(offsets, by: producer)
            }
        }
    }

    mutating func commitTransaction(deadline: Duration?) throws(KafkaError) {
        try deliver("commit_transaction", deadline ?? timeout + .seconds(10))
        try end("commit_transaction", isCommit: true, deadline ?? timeout + .seconds(10))
    }

    mutating func abortTransaction(deadline: Duration?) throws(KafkaError) {
        if case .abortTransaction? = failure?.recovery { failure = nil }
        if let failure { throw failure }
        queue = []
        try end("abort_transaction", isCommit: false, deadline ?? timeout + .seconds(10))
    }

    private mutating func end(_ operation: String, isCommit: Bool, _ deadline: Duration) throws(KafkaError) {
        guard isKnown else { return }
        let (kafka, id, epoch) = (kafka, id, epoch)
        if baton.isOne(of: kafka.faults.lostRequest) {
            // It may arrive after all, when its producer has given up.
            if baton.isOne(of: 2) {
                baton.after(baton.milliseconds(0...60_000)) { _ = kafka.end(id, epoch, isCommit: isCommit) }
            }
            return try endUnknown(operation, deadline)
        }
        try request(operation, deadline)
        switch kafka.end(id, epoch, isCommit: isCommit) {
        case .done, .busy: isKnown = false
        case .fenced: try fail(.fenced(operation))
        case .invalid: try fail(.failed(.producer, operation))
        }
        if baton.isOne(of: kafka.faults.lostAnswer) { try endUnknown(operation, deadline) }
        guard baton.isOne(of: kafka.faults.copy) else { return }
        hasRepeatedRequests = true
        baton.after(baton.milliseconds(0...20_000)) { _ = kafka.end(id, epoch, isCommit: isCommit) }
    }

    /// No answer came, or the client failed first.
    private mutating func endUnknown(_ operation: String, _ deadline: Duration) throws(KafkaError) {
        if baton.isOne(of: 2) {
            process.pause(baton.milliseconds(0...2_000))
            try fail(.failed(.producer, operation))
        }
        process.pause(deadline)
        throw .unanswered(.producer, operation)
    }
}
