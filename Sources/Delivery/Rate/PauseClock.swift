/// How long a lane has been paused: that time does not count when a message is given up. Times are in milliseconds.
package struct PauseClock: Sendable {
    /// Older pauses are forgotten, and count then: a message is given up after an hour.
    private static let kept = 64

    private var pauses: [Range<Int64>] = []
    private var began: Int64?

    package var isPaused: Bool { began != nil }

    package mutating func begin(now: Int64) {
        if began == nil { began = now }
    }

    package mutating func end(now: Int64) {
        guard let start = began else { return }
        began = nil
        guard now > start else { return }
        if pauses.count == Self.kept { pauses.removeFirst() }
        pauses.append(start..<now)
    }

    /// The time from `start` to `now` without the pauses.
    package func unpaused(from start: Int64, to now: Int64) -> Int64 {
        guard now > start else { return 0 }
        var time = now - start
        for pause in pauses { time -= max(min(pause.upperBound, now) - max(pause.lowerBound, start), 0) }
        if let began { time -= max(now - max(began, start), 0) }
        return max(time, 0)
    }
}
