import Digests

/// The metadata string of a committed offset: `v1 w=<ms> n=<partitions> t=<ms>`, with `p=<16 hex digits>` after `w` while
/// the timers of one instant are split (ADR 31).
///
/// Every commit of the pipeline carries it; one without it would erase it. An operator's reset, and the expiry of the
/// group's offsets, leave an offset without metadata: see ``init(parsing:)``.
public struct OffsetMetadata: Hashable, Sendable {
    /// The timer watermark: timers due at or before it have fired, or never will.
    public var watermark: TimerWatermark
    /// The partition count of orders.events when the offset was committed: keys have moved where it differs now.
    public var partitions: Int32
    /// The newest record timestamp of the partition below the offset; 1970 where there was none.
    public var newestTimestamp: WallTime

    public init(watermark: TimerWatermark, partitions: Int32, newestTimestamp: WallTime) {
        self.watermark = watermark
        self.partitions = partitions
        self.newestTimestamp = newestTimestamp
    }

    /// Reads metadata; nil where it is not ours or unreadable. Ignores members of later versions.
    public init?(parsing text: String) {
        guard let words = MetadataWords(text) else { return nil }
        var watermark: WallTime?
        var split: UInt64?
        var partitions: Int32?
        var newestTimestamp: WallTime?
        for (name, value) in words.pairs {
            switch name {
            case "w": watermark = Int64(value).map(WallTime.init(milliseconds:))
            // Without it the timers of the instant are sent again, which is better than not at all.
            case "p": split = StoredHash(value)?.number
            case "n": partitions = Int32(value)
            case "t": newestTimestamp = Int64(value).map(WallTime.init(milliseconds:))
            default: continue
            }
        }
        guard let watermark, let partitions, partitions > 0, let newestTimestamp else { return nil }
        self.init(
            watermark: TimerWatermark(watermark, split: split), partitions: partitions, newestTimestamp: newestTimestamp
        )
    }

    /// The metadata string, at most 79 bytes.
    public var text: String {
        "v1 w=\(watermark.time.milliseconds)\(watermark.splitText.map { " p=\($0)" } ?? "") n=\(partitions) "
            + "t=\(newestTimestamp.milliseconds)"
    }
}
