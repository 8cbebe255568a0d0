import KafkaClient

/// Folds the records of `topic.broadcasts` into a view. No I/O and no clock.
package struct BroadcastFold: FollowedFold {
    package private(set) var view = BroadcastView()
    /// The offset of each live key's newest record.
    private var offsets: [[UInt8]: Int64] = [:]

    package init() {}

    /// The next record. One that was taken already changes nothing.
    ///
    /// - Parameter isTombstone: whether it cancels what its key stands for.
    mutating func take(_ record: BroadcastRecord, isTombstone: Bool) {
        guard record.offset >= view.reached else { return }
        if let old = offsets.removeValue(forKey: record.key) { view.records.remove(at: view.index(of: old)) }
        if !isTombstone {
            offsets[record.key] = record.offset
            view.records.append(record)
        }
        reach(record.offset + 1)
    }

    /// What could not be read is nobody's newest record: it stays until the log is cut.
    mutating func take(unreadable batch: UnreadableBatch) {
        guard batch.offsets.upperBound >= view.reached else { return }
        let letter = DeadLetter.unreadableBatch(batch.offsets, batch.reason)
        view.records.append(
            BroadcastRecord(offset: batch.offsets.upperBound, timestamp: nil, key: [], value: [], unreadable: letter))
        reach(batch.offsets.upperBound + 1)
    }

    package mutating func take(_ records: borrowing RecordBatch) {
        for index in 0..<records.count {
            let view = records[index]
            if let batch = records.unreadable.first(where: { $0.offsets.upperBound == view.offset }) {
                take(unreadable: batch)
                continue
            }
            // The broker refuses a record without a key: the topic is compacted.
            take(
                BroadcastRecord(
                    offset: view.offset, timestamp: view.timestamp, key: view.key.map { Array($0) } ?? [],
                    value: view.value.map { Array($0) } ?? [], headers: records.record(at: index).headers),
                isTombstone: view.value == nil)
        }
        for end in records.endsOfPartition { reach(end.offset.value) }
    }

    private mutating func reach(_ offset: Int64) {
        view.reached = max(view.reached, offset)
    }
}
