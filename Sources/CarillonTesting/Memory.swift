import Events

/// Bytes that stay where they are as long as this lives, as a consumer's records do.
package final class Memory {
    private var runs: [UnsafeMutableRawBufferPointer] = []

    package init() {}

    deinit {
        for run in runs { run.deallocate() }
    }

    package func copy(_ text: String) -> UnsafeRawBufferPointer { copy(Array(text.utf8)) }

    package func copy(_ bytes: [UInt8]) -> UnsafeRawBufferPointer {
        let run = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, bytes.count), alignment: 1)
        run.copyBytes(from: bytes)
        runs.append(run)
        return UnsafeRawBufferPointer(rebasing: run[..<bytes.count])
    }

    /// Appends a record to a batch as a consumer hands it over.
    ///
    /// - Parameter now: its timestamp where it has none of its own.
    package func append(
        _ record: SampleRecord, partition: Int32, offset: Int64, now: EventTime? = nil, to batch: inout EventBatch
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
