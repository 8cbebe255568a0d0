import KafkaClient

extension EventRecord {
    /// Points into the bytes of the Kafka batch that the record is in.
    package init(_ record: RecordView) {
        self.init(
            partition: record.partition, offset: record.offset,
            timestamp: record.timestamp, key: record.key, value: record.value,
            headers: record.headers)
    }
}

extension EventHeader {
    /// Points into the bytes of the Kafka batch that the header is in.
    package init(_ header: HeaderView) { self.init(name: header.name, value: header.value) }
}

extension EventBatch {
    /// Adds the headers of a Kafka batch, which the records of that batch refer to, and says which of its records stand
    /// for what could not be read: only into an empty batch.
    package mutating func append(contextOf records: borrowing RecordBatch) {
        for header in records.headers { headers.append(EventHeader(header)) }
        for batch in records.unreadable where batch.partition.topic == topic {
            unreadable.append(
                (batch.partition.partition, batch.offsets.upperBound, .unreadableBatch(batch.offsets, batch.reason)))
        }
    }

    /// Replaces the contents with all records of a Kafka batch, and points into that batch's bytes.
    package mutating func fill(with records: borrowing RecordBatch) {
        removeAll()
        append(contextOf: records)
        for index in 0..<records.count { self.records.append(EventRecord(records[index])) }
    }
}
