import Notifications

/// Holds bytes at addresses that stay valid as long as it lives, like those of a consumer's records.
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
