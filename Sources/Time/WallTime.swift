/// An instant: milliseconds since 1970-01-01T00:00:00Z. A record's timestamp, the time of an event, a deadline.
///
/// Arithmetic saturates: a record may carry any number as its timestamp, and none of them may end a process.
@frozen
public struct WallTime: Hashable, Comparable, Sendable {
    public var milliseconds: Int64

    @inlinable
    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    @inlinable
    public static func < (left: WallTime, right: WallTime) -> Bool { left.milliseconds < right.milliseconds }

    /// The time a number of milliseconds later.
    @inlinable
    public static func + (time: WallTime, milliseconds: Int64) -> WallTime {
        let (sum, overflow) = time.milliseconds.addingReportingOverflow(milliseconds)
        return WallTime(milliseconds: overflow ? (milliseconds < 0 ? .min : .max) : sum)
    }

    /// The time a number of milliseconds earlier.
    @inlinable
    public static func - (time: WallTime, milliseconds: Int64) -> WallTime {
        let (difference, overflow) = time.milliseconds.subtractingReportingOverflow(milliseconds)
        return WallTime(milliseconds: overflow ? (milliseconds < 0 ? .max : .min) : difference)
    }

    /// The milliseconds from the right time to the left one; negative if the right one is later.
    @inlinable
    public static func - (left: WallTime, right: WallTime) -> Int64 {
        let (difference, overflow) = left.milliseconds.subtractingReportingOverflow(right.milliseconds)
        return overflow ? (left < right ? .min : .max) : difference
    }

    @inlinable
    public static func += (time: inout WallTime, milliseconds: Int64) { time = time + milliseconds }

    /// 1970-01-01T00:00:00Z.
    @inlinable
    public static var epoch: WallTime { WallTime(milliseconds: 0) }

    /// Before every other time.
    @inlinable
    public static var distantPast: WallTime { WallTime(milliseconds: .min) }

    /// After every other time.
    @inlinable
    public static var distantFuture: WallTime { WallTime(milliseconds: .max) }
}
