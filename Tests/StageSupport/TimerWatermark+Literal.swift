import Notifications

/// Most tests know no split instant.
extension TimerWatermark: ExpressibleByIntegerLiteral {
    public init(integerLiteral time: Int64) { self.init(WallTime(milliseconds: time)) }
}
