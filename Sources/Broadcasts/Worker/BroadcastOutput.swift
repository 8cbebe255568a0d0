import KafkaClient
import Pipeline
import Streaming

/// A worker's transaction, as the sink of the core.
struct BroadcastOutput: ~Copyable, BroadcastSink {
    /// In the order of ``topics(of:)``.
    private enum Topic: Int { case dispatch, deadLetters, journal }

    private let transaction: Transaction
    private let slot: Slot
    private var headers: [HeaderView] = []
    /// Whether dead letters are cut as ``TruncatedDeadLetter`` says.
    var truncatesDeadLetters = false

    init(_ transaction: Transaction, slot: Slot) {
        self.transaction = transaction
        self.slot = slot
    }

    static func topics(of configuration: PipelineConfiguration) -> [String] {
        let topics = configuration.topics
        return [topics.broadcastDispatch, topics.deadLetters, topics.broadcastJournal]
    }

    mutating func dispatch(_ record: DispatchRecord) throws(KafkaError) {
        try write(to: .dispatch, key: record.key, value: record.value, headers: record.headers)
    }

    mutating func deadLetter(
        key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?, headers: UnsafeBufferPointer<EventHeader>,
        own: Int
    ) throws(KafkaError) {
        guard truncatesDeadLetters else {
            return try write(to: .deadLetters, key: key, value: value, headers: headers)
        }
        let cut = TruncatedDeadLetter(key: key, value: value, headers: headers, own: own)
        try cut.withHeaders { headers throws(KafkaError) in
            try write(to: .deadLetters, key: cut.key, value: cut.value, headers: headers)
        }
    }

    private mutating func write(
        to topic: Topic, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
        headers: UnsafeBufferPointer<EventHeader>
    ) throws(KafkaError) {
        self.headers.removeAll(keepingCapacity: true)
        for header in headers { self.headers.append(HeaderView(name: header.name, value: header.value)) }
        try self.headers.withUnsafeBufferPointer { views throws(KafkaError) in
            try transaction.write(to: topic.rawValue, key: key, value: value, headers: views)
        }
    }

    /// Writes the transaction's record in the journal.
    func journal(_ entry: BroadcastJournalEntry) throws {
        let (record, output) = try journalRecord(entry)
        try transaction.write(record, to: output)
    }

    func journalRecord(_ entry: BroadcastJournalEntry) throws -> (record: ProducerRecord, output: Int) {
        (ProducerRecord(key: Array(slot.description.utf8), value: try entry.json()), Topic.journal.rawValue)
    }
}
