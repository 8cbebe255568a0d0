import Digests
import KafkaClient

/// The record that each transaction writes about itself (docs/code.md: "Contracts", notifications.journal; ADR 11,
/// ADR 30): what no other topic says.
package struct JournalEntry: JournalDocument, Equatable {
    package static let version = 2

    /// A half-open range of offsets that the transaction covered; `from` is the offset committed before it.
    package struct Range: Codable, Equatable {
        package var topic: String
        package var partition: Int32
        package var from: Int64
        package var to: Int64
        /// The first record of the range; nil where it is empty.
        package var first: RecordFingerprint?
        /// True where the state of orders may be incomplete, because the log no longer had what it is folded from.
        package var incomplete: Bool?
    }

    /// The timer watermark of a partition, before and after the transaction.
    package struct Watermark: Codable, Equatable {
        enum CodingKeys: String, CodingKey {
            case topic, partition, before
            case beforeSplit = "before_p"
            case after
            case afterSplit = "after_p"
            case tick = "until"
        }

        package var topic: String
        package var partition: Int32
        @Milliseconds private var before: WallTime
        private var beforeSplit: StoredHash?
        @Milliseconds private var after: WallTime
        private var afterSplit: StoredHash?
        private var tick: Milliseconds?
        /// T of the tick that moved it; nil where it did not move.
        package var until: WallTime? { tick?.wrappedValue }

        init(_ partition: TopicPartition, from before: TimerWatermark, to after: TimerWatermark, until: WallTime?) {
            topic = partition.topic
            self.partition = partition.partition
            _before = Milliseconds(wrappedValue: before.time)
            beforeSplit = before.split.map(StoredHash.init)
            _after = Milliseconds(wrappedValue: after.time)
            afterSplit = after.split.map(StoredHash.init)
            tick = until.map(Milliseconds.init(wrappedValue:))
        }

        package var start: TimerWatermark { TimerWatermark(before, split: beforeSplit?.number) }
        package var end: TimerWatermark { TimerWatermark(after, split: afterSplit?.number) }
    }

    package private(set) var v = Self.version
    package var group: String
    /// The cluster's id; nil where the broker does not report it.
    @Nullable package var cluster: String?
    /// The topic that the pushes are written to.
    package var dispatch: String
    package var ranges: [Range] = []
    /// One for each range.
    package var watermarks: [Watermark] = []
    /// The clock that the transaction used.
    @Milliseconds package var clock = .epoch
    /// The next offset of each partition of the subscriptions topic in the snapshot that was read; nil with a host's
    /// own resolver.
    @Nullable package var table: [Int64]?
    /// The hash of the rules.
    package var rules: String

    package init(group: String, cluster: String?, dispatch: String, rules: String) {
        self.group = group
        self.cluster = cluster
        self.dispatch = dispatch
        self.rules = rules
    }

    /// Adds what the transaction did to a partition.
    package mutating func append(_ partition: TopicPartition, _ position: Position, isIncomplete: Bool) {
        ranges.append(
            Range(
                topic: partition.topic, partition: partition.partition, from: position.committed, to: position.next,
                first: position.first, incomplete: isIncomplete ? true : nil))
        watermarks.append(
            Watermark(
                partition, from: position.committedWatermark, to: position.watermark, until: position.tickTime))
    }
}
