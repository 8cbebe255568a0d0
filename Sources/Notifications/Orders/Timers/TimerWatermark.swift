import Digests

/// The timer watermark of a partition, the pair (W, p) (ADR 31). Timers due at or before W have fired, or never will.
/// While the timers of one instant take several transactions, this also holds for the timers due 1 ms after W whose
/// order id has a hash of at most p.
///
/// Compared as a pair; (W, no p) comes before every (W, p).
public struct TimerWatermark: Hashable, Comparable, Sendable {
    /// W.
    public var time: WallTime
    /// p: the first 8 bytes of the SHA-256 of an order id, big-endian; nil while no instant is split.
    public var split: UInt64?

    public init(_ time: WallTime, split: UInt64? = nil) {
        self.time = time
        self.split = split
    }

    public static func < (left: TimerWatermark, right: TimerWatermark) -> Bool {
        guard left.time == right.time else { return left.time < right.time }
        guard let split = right.split else { return false }
        return left.split.map { $0 < split } ?? true
    }

    /// The watermark at which this timer, with those of the same instant and hash, is the last one processed: a timer
    /// is pending while this is above the partition's watermark.
    ///
    /// - Parameter hash: the hash of its order id.
    init(due: WallTime, hash: StoredHash) {
        self.init(due - 1, split: hash.number)
    }

    /// p as it is stored: 16 lower-case hex digits.
    package var splitText: String? { split.map { StoredHash(number: $0).text } }
}
