import Events
import KafkaClient

extension EventRecord {
    /// The bytes stay the batch's that it comes from.
    package init(_ record: RecordView) {
        self.init(
            partition: record.partition, offset: record.offset,
            timestamp: record.timestamp.map(EventTime.init(milliseconds:)), key: record.key, value: record.value,
            headers: record.headers)
    }
}

extension EventHeader {
    /// The bytes stay the batch's that it comes from.
    package init(_ header: HeaderView) { self.init(name: header.name, value: header.value) }
}

extension EventBatch {
    /// Replaces what it holds by all records of a batch of Kafka's, whose bytes it points into.
    package mutating func fill(with records: borrowing RecordBatch) {
        removeAll()
        for header in records.headers { headers.append(EventHeader(header)) }
        for index in 0..<records.count { self.records.append(EventRecord(records[index])) }
    }
}
