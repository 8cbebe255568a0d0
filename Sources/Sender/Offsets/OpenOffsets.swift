import Notifications

/// The offsets of one partition between the first unfinished one and the last one read: which are finished.
///
/// Answers come out of order, so records are finished out of order. Only the first unfinished offset is committed; what
/// is finished above it is in the commit's metadata, as bits. Hence the window: only so many offsets can be open.
/// Allocates nothing after it was made.
package struct OpenOffsets: Sendable {
    package enum Opening: Equatable, Sendable {
        /// To be handled, then ``finish(_:)``.
        case open
        /// Finished, by an earlier owner too, or opened already: to be left out.
        case known
        /// Beyond the window: to be read again later.
        case full
    }

    /// The most offsets from the first unfinished one on.
    package let window: Int
    /// The first unfinished offset: everything below is finished.
    package private(set) var first: Int64
    /// The offset after the last one that was opened.
    package private(set) var end: Int64
    /// A ring: the bit of an offset is at its remainder. Bits outside of `first..<max(end, restoredEnd)` are 0.
    private var bits: [UInt64]
    private let capacity: Int64
    /// Up to where an earlier owner's bits go.
    private var restoredEnd: Int64
    /// How many in `first..<end` are not finished.
    package private(set) var openCount = 0

    /// - Parameters:
    ///   - committed: the first unfinished offset, and the bits above it.
    ///   - window: from 64 to ``LaneOffset/largestWindow``; bits beyond it are kept.
    package init(from committed: LaneOffset, window: Int) {
        self.init(from: committed.offset, window: window)
        for (byte, value) in committed.finished.enumerated() where value != 0 {
            for bit in 0..<8 where value >> bit & 1 == 1 {
                let offset = first + Int64(byte * 8 + bit)
                guard offset - first < capacity else { return }
                set(offset)
                restoredEnd = offset + 1
            }
        }
        advance()
    }

    /// Begins at an offset above which nothing is finished.
    package init(from offset: Int64, window: Int) {
        self.window = min(max(window, 64), LaneOffset.largestWindow)
        // The largest window of any owner: its bits must fit, whatever this one's window is.
        bits = Array(repeating: 0, count: LaneOffset.largestWindow / 64)
        capacity = Int64(LaneOffset.largestWindow)
        first = offset
        end = offset
        restoredEnd = offset
    }

    /// Whether nothing is open.
    package var isIdle: Bool { openCount == 0 }

    /// Whether a record of this offset could be opened.
    package func hasRoom(for offset: Int64) -> Bool { offset - (isIdle ? max(first, end) : first) < window }

    /// A record was read. What is skipped is no record: the marker of a transaction, or one that was cleaned up.
    package mutating func open(_ offset: Int64) -> Opening {
        guard offset >= end else { return .known }
        if isIdle { skip(to: offset) }
        guard offset - first < window else { return .full }
        skip(to: offset)
        // What was skipped may have reached what an earlier owner finished.
        guard offset >= end else { return .known }
        end = offset + 1
        if isSet(offset) {
            advance()
            return .known
        }
        openCount += 1
        return .open
    }

    /// Everything below an offset was read: the position, or the end of the partition. Without it the markers behind
    /// the last record would stay uncommitted, as lag.
    package mutating func skip(to offset: Int64) {
        guard offset > end else { return }
        if isIdle, offset - first >= window {
            // Nothing is open. What an earlier owner finished above stays.
            for passed in first..<min(offset, first + capacity) { clear(passed) }
            first = offset
            end = offset
            advance()
            return
        }
        let limit = min(offset, first + Int64(window))
        while end < limit {
            set(end)
            end += 1
        }
        advance()
    }

    /// The record's outcome or its retry record is part of the open transaction.
    ///
    /// - Returns: false if it is not open.
    @discardableResult
    package mutating func finish(_ offset: Int64) -> Bool {
        guard offset >= first, offset < end, !isSet(offset) else { return false }
        set(offset)
        openCount -= 1
        advance()
        return true
    }

    /// Whether everything below an offset was read.
    package func hasReached(_ offset: Int64) -> Bool { max(first, end) >= offset }

    /// Those below an offset that are open.
    package func open(below limit: Int64) -> [Int64] { (first..<max(first, min(end, limit))).filter { !isSet($0) } }

    /// What a transaction commits.
    ///
    /// - Parameter sentBelow: nothing unfinished at or above this offset may have been sent.
    package func commit(partitions: Int32, sentBelow: Int64) -> LaneOffset {
        var finished: [UInt8] = []
        var offset = first
        let last = max(end, restoredEnd)
        while offset < last {
            var byte: UInt8 = 0
            for bit in 0..<8 where offset + Int64(bit) < last && isSet(offset + Int64(bit)) { byte |= 1 << bit }
            finished.append(byte)
            offset += 8
        }
        while finished.last == 0 { finished.removeLast() }
        return LaneOffset(
            offset: first, partitions: partitions, sentBelow: sentBelow, finished: finished)
    }

    private mutating func advance() {
        while first < end, isSet(first) {
            clear(first)
            first += 1
        }
        // What an earlier owner finished may begin right here, before it is read again.
        while first == end, first < restoredEnd, isSet(first) {
            clear(first)
            first += 1
            end += 1
        }
        restoredEnd = max(restoredEnd, first)
    }

    private func isSet(_ offset: Int64) -> Bool {
        guard offset >= first, offset - first < capacity else { return false }
        let bit = Int(offset % capacity)
        return bits[bit / 64] >> UInt64(bit % 64) & 1 == 1
    }

    private mutating func set(_ offset: Int64) {
        let bit = Int(offset % capacity)
        bits[bit / 64] |= 1 << UInt64(bit % 64)
    }

    private mutating func clear(_ offset: Int64) {
        let bit = Int(offset % capacity)
        bits[bit / 64] &= ~(1 << UInt64(bit % 64))
    }
}
