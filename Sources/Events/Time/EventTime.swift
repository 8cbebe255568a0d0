/// An instant in event time: milliseconds since 1970-01-01T00:00:00Z.
public struct EventTime: Hashable, Comparable, Sendable {
    public var milliseconds: Int64

    @inlinable
    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    @inlinable
    public static func < (left: EventTime, right: EventTime) -> Bool {
        left.milliseconds < right.milliseconds
    }
}
