import Digests

/// The timers of one order, a pure function of its state: the start of its slot, and 15, 30 and 45 minutes after it.
///
/// They count elapsed time from the start, so that a daylight-saving change in between moves none of them.
package struct OrderTimers {
    private let start: Int64
    private let setAt: Int64
    private let spread: Int64

    /// - Parameter spread: the delay of the place's timers, in seconds.
    init(_ header: OrderHeader, spread: Int64) {
        start = Int64(header.start)
        setAt = Int64(header.startSetAt)
        self.spread = spread
    }

    var isEmpty: Bool { start == 0 }

    /// When a timer is due.
    func due(_ kind: TimerKind) -> WallTime { nominal(kind) + spread * 1000 }

    /// The same time without the spread.
    func nominal(_ kind: TimerKind) -> WallTime { WallTime(milliseconds: (start + kind.delay) * 1000) }

    /// A timer that was already due when it was set never fires.
    func isSetInTime(_ kind: TimerKind) -> Bool { due(kind).milliseconds / 1000 > setAt }

    /// Whether a timer is still to fire above this watermark.
    ///
    /// - Parameter hash: the hash of the order id; computed only while an instant is split.
    func isPending(_ kind: TimerKind, after watermark: TimerWatermark, hash: @autoclosure () -> StoredHash) -> Bool {
        let due = due(kind)
        guard due > watermark.time, isSetInTime(kind) else { return false }
        guard watermark.split != nil, due == watermark.time + 1 else { return true }
        return TimerWatermark(due: due, hash: hash()) > watermark
    }

    /// How many are still to fire above this watermark.
    func pending(after watermark: TimerWatermark, hash: @autoclosure () -> StoredHash) -> Int {
        isEmpty ? 0 : TimerKind.allCases.count { isPending($0, after: watermark, hash: hash()) }
    }

    /// When the first of them is due; the distant future if there is none. In a split instant, it may have fired
    /// already.
    func next(after watermark: TimerWatermark) -> WallTime {
        guard !isEmpty else { return .distantFuture }
        for kind in TimerKind.allCases where isSetInTime(kind) && due(kind) > watermark.time { return due(kind) }
        return .distantFuture
    }
}

/// The delay of a place's timers.
enum PlaceSpread {
    /// From 0 to `most`; always the same for the same place.
    static func seconds(of place: UnsafeRawBufferPointer, upTo most: Int64) -> Int64 {
        // FNV-1a.
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in place { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return Int64((hash ^ hash >> 32) % UInt64(most + 1))
    }
}
