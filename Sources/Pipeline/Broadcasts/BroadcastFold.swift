import KafkaClient

/// Folds the records of `topic.broadcasts` into a view. No I/O and no clock.
struct BroadcastFold {
    private(set) var view = BroadcastView()
    /// The offset of each live key's newest record.
    private var offsets: [[UInt8]: Int64] = [:]
    /// The end that is to be reached, and when it was asked for.
    private var asked: (end: Int64, at: ContinuousClock.Instant)?

    /// The next record. One that was taken already changes nothing.
    ///
    /// - Parameter isTombstone: whether it cancels what its key stands for.
    mutating func take(_ record: BroadcastRecord, isTombstone: Bool) {
        guard record.offset >= view.reached else { return }
        if let old = offsets.removeValue(forKey: record.key) { view.records.remove(at: view.place(of: old)) }
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

    /// Everything below the offset was taken.
    mutating func reach(_ offset: Int64) {
        view.reached = max(view.reached, offset)
        guard let asked, asked.end <= view.reached else { return }
        view.freshSince = asked.at
        self.asked = nil
    }

    /// The end of the topic, and when it was asked for. One that is not reached yet stays the one to reach: of a topic
    /// that grows all the time a newer one would never be.
    ///
    /// - Returns: false if the log ends before what is known of it: it was cut or created again, and this view is another
    ///   log's.
    mutating func ends(at end: Int64, askedAt time: ContinuousClock.Instant) -> Bool {
        guard end >= max(view.reached, asked?.end ?? 0) else { return false }
        if asked == nil { asked = (end, time) }
        reach(view.reached)
        return true
    }
}
