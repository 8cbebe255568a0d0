import CRDKafka
import Glibc

/// Records as librdkafka delivered them, in order of arrival. Owns them until ``removeAll()``.
///
/// One thread. Reuses its buffers from batch to batch, so neither a record nor a header costs an allocation here. Keeps
/// the client alive while it holds records, because librdkafka's tear-down would wait for them forever.
package struct RecordBatch: ~Copyable {
    /// A record's fields, read once when it arrived.
    @usableFromInline
    struct Entry {
        @usableFromInline var key: UnsafeRawPointer?
        @usableFromInline var value: UnsafeRawPointer?
        @usableFromInline var offset: Int64
        @usableFromInline var timestamp: Int64
        @usableFromInline var keyCount: Int
        @usableFromInline var valueCount: Int
        @usableFromInline var partition: Int32
        @usableFromInline var topic: Int32
        @usableFromInline var headersStart: Int32
        @usableFromInline var headersEnd: Int32
    }

    @usableFromInline var entries: [Entry] = []
    @usableFromInline var topics = TopicNames()
    package internal(set) var headers: [HeaderView] = []
    /// The partitions whose end was reached while filling: every record below the offset has been read
    /// (docs/kafka.md 19).
    package var endsOfPartition: [(partition: TopicPartition, offset: Offset)] = []
    package var errors: [KafkaError] = []
    /// What was passed while filling; each has a record in its place.
    package internal(set) var unreadable: [UnreadableBatch] = []
    /// The bytes of all keys and values.
    package internal(set) var byteCount = 0
    private var messages: [UnsafeMutablePointer<rd_kafka_message_t>] = []
    private var handle: ClientHandle?
    /// The bytes of records that no client has delivered.
    private var copies: [UnsafeMutableRawBufferPointer] = []
    /// Their headers, by index.
    private var copiedHeaders: [Int: [HeaderView]] = [:]
    private let readsHeaders: Bool

    /// - Parameter readsHeaders: false leaves every record's headers empty. For each record whose headers are read,
    ///   librdkafka 2.0.2 allocates a list of 536 bytes, even if there are none.
    package init(readsHeaders: Bool = true) {
        self.readsHeaders = readsHeaders
    }

    deinit {
        for message in messages { rd_kafka_message_destroy(message) }
        for bytes in copies { bytes.deallocate() }
    }

    @inlinable package var count: Int { entries.count }
    @inlinable package var isEmpty: Bool { entries.isEmpty }

    @inlinable
    package subscript(index: Int) -> RecordView {
        let entry = entries[index]
        return RecordView(
            topic: topics.names[Int(entry.topic)], partition: entry.partition, offset: entry.offset,
            timestamp: entry.timestamp < 0 ? nil : WallTime(milliseconds: entry.timestamp),
            key: entry.key.map { UnsafeRawBufferPointer(start: $0, count: entry.keyCount) },
            value: entry.value.map { UnsafeRawBufferPointer(start: $0, count: entry.valueCount) },
            headers: Int(entry.headersStart)..<Int(entry.headersEnd))
    }

    /// Returns the records to librdkafka and keeps the buffers.
    package mutating func removeAll() {
        for message in messages { rd_kafka_message_destroy(message) }
        messages.removeAll(keepingCapacity: true)
        for bytes in copies { bytes.deallocate() }
        copies.removeAll()
        copiedHeaders.removeAll()
        entries.removeAll(keepingCapacity: true)
        headers.removeAll(keepingCapacity: true)
        endsOfPartition.removeAll(keepingCapacity: true)
        errors.removeAll(keepingCapacity: true)
        unreadable.removeAll(keepingCapacity: true)
        topics.forgetHandles()
        byteCount = 0
        handle = nil
    }

    /// The value of a record's last header of a name, also in a batch that reads none; valid until the batch is emptied.
    /// Costs what reading them costs.
    package func header(_ name: String, at index: Int) -> UnsafeRawBufferPointer? {
        guard messages.indices.contains(index) else {
            return copiedHeaders[index]?.last { $0.name.elementsEqual(name.utf8) }?.value
        }
        var list: OpaquePointer?
        var value: UnsafeRawPointer?
        var count = 0
        guard rd_kafka_message_headers(messages[index], &list) == RD_KAFKA_RESP_ERR_NO_ERROR, let list,
            rd_kafka_header_get_last(list, name, &value, &count) == RD_KAFKA_RESP_ERR_NO_ERROR
        else { return nil }
        return value.map { UnsafeRawBufferPointer(start: $0, count: count) }
    }

    /// A copy of a record.
    package func record(at index: Int) -> ConsumerRecord {
        let view = self[index]
        return ConsumerRecord(
            topic: view.topic, partition: view.partition, offset: Offset(view.offset),
            timestamp: view.timestamp, key: view.key.map { Array($0) }, value: view.value.map { Array($0) },
            headers: headers[view.headers].map {
                RecordHeader(String(decoding: $0.name, as: UTF8.self), $0.value.map { Array($0) })
            })
    }
}

extension RecordBatch {
    /// A batch holds the records of one client at a time; those of another client are returned first.
    mutating func keep(_ handle: ClientHandle) {
        if self.handle === handle { return }
        if self.handle != nil { removeAll() }
        self.handle = handle
    }

    /// Takes ownership of a record.
    mutating func append(_ message: UnsafeMutablePointer<rd_kafka_message_t>) {
        let record = message.pointee
        var kind = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE
        let timestamp = rd_kafka_message_timestamp(message, &kind)
        let headersStart = Int32(truncatingIfNeeded: headers.count)
        var list: OpaquePointer?
        if readsHeaders, rd_kafka_message_headers(message, &list) == RD_KAFKA_RESP_ERR_NO_ERROR, let list {
            appendHeaders(list)
        }
        messages.append(message)
        entries.append(
            Entry(
                key: UnsafeRawPointer(record.key), value: UnsafeRawPointer(record.payload), offset: record.offset,
                timestamp: kind == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE ? -1 : timestamp, keyCount: record.key_len,
                valueCount: record.len, partition: record.partition, topic: topics.index(of: record.rkt),
                headersStart: headersStart, headersEnd: Int32(truncatingIfNeeded: headers.count)))
        byteCount += record.key_len + record.len
    }

    /// Appends a copy of a record that no client has delivered.
    package mutating func append(copying record: ProducerRecord, at offset: Int64, of partition: TopicPartition) {
        func copied(_ bytes: some Collection<UInt8>) -> UnsafeRawBufferPointer {
            let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, bytes.count), alignment: 1)
            copy.copyBytes(from: bytes)
            copies.append(copy)
            return UnsafeRawBufferPointer(rebasing: copy[..<bytes.count])
        }
        let (key, value) = (record.key.map { copied($0) }, record.value.map { copied($0) })
        let headersStart = Int32(truncatingIfNeeded: headers.count)
        let views = record.headers.map { HeaderView(name: copied($0.name.utf8), value: $0.value.map { copied($0) }) }
        if !views.isEmpty { copiedHeaders[entries.count] = views }
        if readsHeaders { headers += views }
        entries.append(
            Entry(
                key: key?.baseAddress, value: value?.baseAddress, offset: offset,
                timestamp: record.timestamp?.milliseconds ?? -1, keyCount: key?.count ?? 0,
                valueCount: value?.count ?? 0, partition: partition.partition,
                topic: topics.index(of: partition.topic), headersStart: headersStart,
                headersEnd: Int32(truncatingIfNeeded: headers.count)))
    }

    /// Takes ownership of the message that reports an unreadable batch, and puts a record in that batch's place.
    mutating func append(_ batch: UnreadableBatch, in message: UnsafeMutablePointer<rd_kafka_message_t>) {
        messages.append(message)
        append(batch)
    }

    /// Puts a record in the place of a batch that is not read.
    mutating func append(_ batch: UnreadableBatch) {
        unreadable.append(batch)
        let headersEnd = Int32(truncatingIfNeeded: headers.count)
        entries.append(
            Entry(
                key: nil, value: nil, offset: batch.offsets.upperBound, timestamp: -1, keyCount: 0, valueCount: 0,
                partition: batch.partition.partition, topic: topics.index(of: batch.partition.topic),
                headersStart: headersEnd, headersEnd: headersEnd))
    }

    private mutating func appendHeaders(_ list: OpaquePointer) {
        var index = 0
        var name: UnsafePointer<CChar>?
        var value: UnsafeRawPointer?
        var count = 0
        while rd_kafka_header_get_all(list, index, &name, &value, &count) == RD_KAFKA_RESP_ERR_NO_ERROR {
            index += 1
            guard let name else { continue }
            headers.append(
                HeaderView(
                    name: UnsafeRawBufferPointer(start: name, count: strlen(name)),
                    value: value.map { UnsafeRawBufferPointer(start: $0, count: count) }))
        }
    }

    /// Notes the end of a partition, or an error; the caller keeps ownership of the message.
    mutating func note(_ message: UnsafeMutablePointer<rd_kafka_message_t>, of handle: ClientHandle) {
        let partition = UnsafePointer(message).partition
        if message.pointee.err == RD_KAFKA_RESP_ERR__PARTITION_EOF {
            if let partition { endsOfPartition.append((partition, Offset(message.pointee.offset))) }
            return
        }
        let text = rd_kafka_message_errstr(message).map { String(cString: $0) } ?? ""
        errors.append(handle.error(message.pointee.err, text, operation: "consume", partition: partition))
    }
}
