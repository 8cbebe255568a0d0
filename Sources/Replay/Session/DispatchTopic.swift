import KafkaClient

/// Reads the records of a dispatch topic. One owner; the memory is reused.
struct DispatchTopic: ~Copyable {
    private var headers: [EventHeader] = []

    /// Calls `body` with a record, valid during the call, and its coordinates.
    mutating func withRecord(
        of records: borrowing RecordBatch, at index: Int, _ body: (DispatchRecord, Coordinates) throws -> Void
    ) rethrows {
        let record = records[index]
        headers.removeAll(keepingCapacity: true)
        for header in records.headers[record.headers] { headers.append(EventHeader(header)) }
        try headers.withUnsafeBufferPointer { headers in
            try body(
                DispatchRecord(record, headers: headers),
                Coordinates(partition: record.partition, offset: record.offset))
        }
    }
}
