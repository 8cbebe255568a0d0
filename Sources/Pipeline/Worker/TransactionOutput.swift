import KafkaClient
import Streaming

/// A worker's transaction: dispatch records, dead letters, and an entry of the journal.
package struct TransactionOutput: ~Copyable {
    /// In the order of a contract's outputs.
    private enum Topic: Int { case dispatch, deadLetters, journal }

    package let transaction: Transaction
    private let slot: Slot
    private var headers: [HeaderView] = []
    /// What the core emits next comes from events of this source.
    var source = SourceKind.orders
    /// Whether dead letters are cut as ``TruncatedDeadLetter`` says.
    package var truncatesDeadLetters = false

    package init(_ transaction: Transaction, slot: Slot) {
        self.transaction = transaction
        self.slot = slot
    }

    /// - Parameter tag: what a refusal of the record is known by.
    package mutating func dispatch(_ record: DispatchRecord, tag: UInt64) throws(KafkaError) {
        try write(to: .dispatch, key: record.key, value: record.value, headers: record.headers, tag: tag)
    }

    /// - Parameters:
    ///   - headers: the record's own, of which there are `own`, then the reason's.
    ///   - tag: what a refusal of the record is known by.
    package mutating func deadLetter(
        key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?, headers: UnsafeBufferPointer<EventHeader>,
        own: Int, tag: UInt64
    ) throws(KafkaError) {
        guard truncatesDeadLetters else {
            return try write(to: .deadLetters, key: key, value: value, headers: headers, tag: tag)
        }
        let cut = TruncatedDeadLetter(key: key, value: value, headers: headers, own: own)
        try cut.withHeaders { headers throws(KafkaError) in
            try write(to: .deadLetters, key: cut.key, value: cut.value, headers: headers, tag: tag)
        }
    }

    /// Writes the transaction's record in the journal.
    package func journal(_ entry: some JournalDocument) throws {
        let (record, output) = try journalRecord(entry)
        try transaction.write(record, to: output, tag: EventTag.none)
    }

    package func journalRecord(_ entry: some JournalDocument) throws -> (record: ProducerRecord, output: Int) {
        (ProducerRecord(key: Array(slot.description.utf8), value: try entry.json()), Topic.journal.rawValue)
    }

    private mutating func write(
        to topic: Topic, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
        headers: UnsafeBufferPointer<EventHeader>, tag: UInt64
    ) throws(KafkaError) {
        self.headers.removeAll(keepingCapacity: true)
        for header in headers { self.headers.append(HeaderView(name: header.name, value: header.value)) }
        try self.headers.withUnsafeBufferPointer { views throws(KafkaError) in
            try transaction.write(to: topic.rawValue, key: key, value: value, headers: views, tag: tag)
        }
    }
}

/// Each record is tagged with the coordinates of the event it comes from, so that a refused one can be traced to it.
extension TransactionOutput: RecordSink {
    package mutating func dispatch(
        _ record: DispatchRecord, for notification: Notification, from event: EventRecord
    ) throws(KafkaError) {
        try dispatch(record, tag: tag(of: event))
    }

    package mutating func deadLetter(
        _ letter: DeadLetter, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
        headers: UnsafeBufferPointer<EventHeader>, from event: EventRecord
    ) throws(KafkaError) {
        try deadLetter(key: key, value: value, headers: headers, own: event.headers.count, tag: tag(of: event))
    }

    private func tag(of event: EventRecord) -> UInt64 {
        EventTag.make(EventCoordinates(SourcePartition(source, event.partition), offset: event.offset))
    }
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
