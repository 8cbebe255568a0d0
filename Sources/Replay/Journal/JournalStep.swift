import Events
import OrderState
import Pipeline

/// What one transaction did to one partition, as its record in notifications.journal says.
package struct JournalStep: Equatable, Sendable {
    package var partition: Int32
    /// The half-open range of offsets that it covered; empty where it only let timers go.
    package var from: Int64
    package var to: Int64
    package var watermarkBefore: TimerWatermark
    package var watermarkAfter: TimerWatermark
    /// T of its tick, in milliseconds since 1970. Nil where it had none, and in entries of the first version, where T is
    /// the watermark after it.
    package var until: Int64?
    /// The transaction's clock, in milliseconds since 1970.
    package var clock: Int64
    /// The next offset of each partition of the subscriptions topic in the table that it saw; nil with a host's own resolver.
    package var table: [Int64]?
    /// The hash of the rules that it was written under.
    package var rules: String
    /// The group that wrote it; nil in entries of the first version, which do not say.
    package var group: String?
    /// The id of its cluster; nil where that is not known.
    package var cluster: String?
    /// The topic that its pushes went to; nil in entries of the first version.
    package var dispatch: String?
    /// The first record of the range; nil for an empty one, and in entries of the first version.
    package var first: RecordFingerprint?
    /// The state of orders may have lacked something (ADR 34).
    package var isIncomplete: Bool
    /// Where its record stands in the journal.
    package var place: Coordinates

    package init(
        partition: Int32, from: Int64, to: Int64, watermarkBefore: TimerWatermark, watermarkAfter: TimerWatermark,
        until: Int64? = nil, clock: Int64, table: [Int64]?, rules: String, group: String? = nil, cluster: String? = nil,
        dispatch: String? = nil, first: RecordFingerprint? = nil, isIncomplete: Bool = false, place: Coordinates
    ) {
        self.partition = partition
        self.from = from
        self.to = to
        self.watermarkBefore = watermarkBefore
        self.watermarkAfter = watermarkAfter
        self.until = until
        self.clock = clock
        self.table = table
        self.rules = rules
        self.group = group
        self.cluster = cluster
        self.dispatch = dispatch
        self.first = first
        self.isIncomplete = isIncomplete
        self.place = place
    }

    /// Whether timers went at its end.
    package var hasTick: Bool { watermarkAfter > watermarkBefore }

    /// Whether the records of `range`, or timers that went between two of them, are among what it did. Timers at an offset
    /// come before the record there.
    package func touches(_ range: Range<Int64>) -> Bool {
        from < to ? from < range.upperBound && to > range.lowerBound : range.lowerBound < to && to <= range.upperBound
    }

    /// Whether a record of its range stands where the journal says that another one stood: the log is another one. A record
    /// that the journal does not name says nothing.
    ///
    /// Cost: a SHA-256 of the key for the record that is named, a comparison for all others.
    func contradicts(_ record: EventRecord) -> Bool {
        guard let first, first.offset == record.offset else { return false }
        return first
            != RecordFingerprint(offset: record.offset, timestamp: record.timestamp?.milliseconds, key: record.key)
    }
}
