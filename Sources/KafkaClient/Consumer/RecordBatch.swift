import CRDKafka

/// Records as librdkafka handed them over, in the order of arrival; it owns them until ``removeAll()``.
///
/// One thread. Its buffers are reused from batch to batch: a record costs no allocation here.
package struct RecordBatch: ~Copyable {
    /// A record's fields, read once when it arrived.
    @usableFromInline
    struct Entry {
        @usableFromInline var key: UnsafeRawPointer?
        @usableFromInline var value: UnsafeRawPointer?
        @usableFromInline var offset: Int64
        @usableFromInline var timestamp: Int64
        @usableFromInline var keyCount: Int32
        @usableFromInline var valueCount: Int32
        @usableFromInline var partition: Int32
        @usableFromInline var topic: Int32
        @usableFromInline var headersStart: Int32
        @usableFromInline var headersEnd: Int32
    }

    @usableFromInline var entries: [Entry] = []
    @usableFromInline var topics: [String] = []
    package internal(set) var headers: [HeaderView] = []
    /// The ends that were reached while filling: nothing below the offset is left to read (kafka-rules 19).
    package internal(set) var endsOfPartition: [(partition: TopicPartition, offset: Offset)] = []
    package internal(set) var errors: [KafkaError] = []
    /// The bytes of all keys and values.
    package internal(set) var byteCount = 0
    var messages: [UnsafeMutablePointer<rd_kafka_message_t>] = []

    package init() {}

    deinit {
        for message in messages { rd_kafka_message_destroy(message) }
    }

    @inlinable package var count: Int { entries.count }
    @inlinable package var isEmpty: Bool { entries.isEmpty }

    @inlinable
    package subscript(index: Int) -> RecordView {
        let entry = entries[index]
        return RecordView(
            topic: topics[Int(entry.topic)], partition: entry.partition, offset: entry.offset,
            timestamp: entry.timestamp < 0 ? nil : entry.timestamp,
            key: entry.key.map { UnsafeRawBufferPointer(start: $0, count: Int(entry.keyCount)) },
            value: entry.value.map { UnsafeRawBufferPointer(start: $0, count: Int(entry.valueCount)) },
            headers: Int(entry.headersStart)..<Int(entry.headersEnd))
    }

    /// Gives the records back and keeps the buffers.
    package mutating func removeAll() {
        for message in messages { rd_kafka_message_destroy(message) }
        messages.removeAll(keepingCapacity: true)
        entries.removeAll(keepingCapacity: true)
        headers.removeAll(keepingCapacity: true)
        endsOfPartition.removeAll(keepingCapacity: true)
        errors.removeAll(keepingCapacity: true)
        byteCount = 0
    }

    /// A record with bytes of its own.
    package func record(at index: Int) -> ConsumerRecord {
        let view = self[index]
        return ConsumerRecord(
            topic: view.topic, partition: view.partition, offset: Offset(view.offset),
            timestamp: view.timestamp.map(Timestamp.init(milliseconds:)), key: view.key.map { Array($0) },
            value: view.value.map { Array($0) },
            headers: headers[view.headers].map {
                RecordHeader(String(decoding: $0.name, as: UTF8.self), $0.value.map { Array($0) })
            })
    }
}
