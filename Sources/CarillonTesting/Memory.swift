import Notifications

/// Like a consumer's memory, which holds the bytes of its records.
package typealias Memory = ByteCopies

extension ByteCopies {
    package func copy(_ text: String) -> UnsafeRawBufferPointer { copy(text.utf8) }

    /// Appends a record to a batch as a consumer delivers it.
    ///
    /// - Parameter now: the timestamp of a record that has none.
    package func append(
        _ record: SampleRecord, partition: Int32, offset: Int64, now: WallTime? = nil, to batch: inout EventBatch
    ) {
        let first = batch.headers.count
        for (name, value) in record.headers {
            batch.headers.append(EventHeader(name: copy(name), value: copy(value)))
        }
        batch.records.append(
            EventRecord(
                partition: partition, offset: offset, timestamp: record.timestamp ?? now,
                key: record.key.map { copy($0) }, value: record.value.map { copy($0) },
                headers: first..<batch.headers.count))
    }
}
