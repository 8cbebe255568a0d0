/// What one transaction did to one partition, as recorded in notifications.journal.
package struct JournalStep: Equatable, Sendable {
    package var partition: SourcePartition
    /// The half-open range of offsets that it covered; empty if it only fired timers.
    package var from: Int64
    package var to: Int64
    package var watermarkBefore: TimerWatermark
    package var watermarkAfter: TimerWatermark
    /// The time of its tick, T; nil if it had none.
    package var until: WallTime?
    /// The transaction's clock.
    package var clock: WallTime
    /// The next offset of each partition of the subscriptions topic in the table that it used; nil with a host's own
    /// resolver.
    package var table: [Int64]?
    /// The hash of the rules in effect.
    package var rules: String
    /// The group that wrote it.
    package var group: String
    /// The id of its cluster; nil if unknown.
    package var cluster: String?
    /// The topic that its pushes were written to.
    package var dispatch: String
    /// The first record of the range; nil for an empty range.
    package var first: RecordFingerprint?
    /// The state of orders may have been incomplete (ADR 34).
    package var isIncomplete = false
    /// Of the entry in the journal.
    package var coordinates: Coordinates

    /// Whether timers fired at its end.
    package var hasTick: Bool { watermarkAfter > watermarkBefore }

    /// Whether it covers records of `range`, or timers that fired between two of them. Timers at an offset
    /// come before the record there.
    package func touches(_ range: Range<Int64>) -> Bool {
        from < to ? from < range.upperBound && to > range.lowerBound : range.lowerBound < to && to <= range.upperBound
    }

    /// Whether a record differs from the one that the journal names at its offset: the log is then another one. False
    /// for a record that the journal does not name.
    ///
    /// Cost: a SHA-256 of the key for the named record, a comparison for all others.
    func contradicts(_ record: EventRecord) -> Bool {
        guard let first, first.offset == record.offset else { return false }
        return first != RecordFingerprint(offset: record.offset, timestamp: record.timestamp, key: record.key)
    }
}
