import Notifications

/// How far a topic's partition may be sent, so that a successor can tell from what the group has what may have been sent.
///
/// Nothing at or above the committed bound is sent. The bound moves ahead with transactions that are due anyway, by some
/// times what was sent since the last one; only a burst waits for a transaction of its own.
struct SendBound: Sendable {
    /// The fewest offsets that the bound is ahead.
    static let shortestStep: Int64 = 8

    /// What is unfinished below this offset may have been sent by an earlier owner, which did not end it.
    let doubtedBelow: Int64
    /// What the group has: nothing unfinished at or above it may have been sent.
    private(set) var committed: Int64
    /// The offset after the last one that was sent.
    private var reach: Int64
    /// The reach at the last transaction.
    private var lastReach: Int64
    /// The first offset that waits for the next transaction.
    private var wanted: Int64?
    private var step = shortestStep

    /// - Parameter end: of the partition: what is beyond did not exist when the earlier owner ended.
    init(from committed: LaneOffset, end: Int64) {
        doubtedBelow = min(committed.sentBelow, end)
        self.committed = committed.sentBelow
        reach = committed.offset
        lastReach = reach
    }

    /// Whether a record may be sent before the next transaction. If not, that one allows it.
    mutating func allows(_ offset: Int64) -> Bool {
        guard offset >= committed else { return true }
        wanted = min(wanted ?? offset, offset)
        return false
    }

    mutating func send(_ offset: Int64) { reach = max(reach, offset + 1) }

    /// Whether the bound is to be moved, also if nothing else is to be committed.
    var isShort: Bool { wanted != nil || reach > committed - step / 2 }

    /// A transaction is taken.
    ///
    /// - Parameter first: the first unfinished offset.
    /// - Returns: the bound that it commits.
    mutating func advance(from first: Int64) -> Int64 {
        reach = max(reach, first, wanted.map { $0 + 1 } ?? first)
        wanted = nil
        step = min(max(Self.shortestStep, 3 * (reach - lastReach), step / 2), 4 * step)
        lastReach = reach
        return max(committed, reach + step)
    }

    /// The transaction has committed.
    mutating func commit(_ bound: Int64) {
        committed = bound
        if let wanted, wanted < bound { self.wanted = nil }
    }
}
