import Time

/// How long a lane has been paused, or nothing was accepted: that time does not count when a message is given up.
package struct PauseClock: Sendable {
    /// Older pauses are forgotten, and count then: a message is given up after an hour.
    private static let kept = 64
    /// In milliseconds. Shorter ones count: each failure between two answers is one, and they would take the places.
    private static let shortest: Int64 = 1_000

    private var pauses: [Range<WallTime>] = []
    private var began: WallTime?

    package var isPaused: Bool { began != nil }

    package mutating func begin(now: WallTime) {
        if began == nil { began = now }
    }

    package mutating func end(now: WallTime) {
        guard let start = began else { return }
        began = nil
        guard now - start >= Self.shortest else { return }
        if pauses.count == Self.kept { pauses.removeFirst() }
        pauses.append(start..<now)
    }

    /// The milliseconds from `start` to `now` without the pauses.
    package func unpaused(from start: WallTime, to now: WallTime) -> Int64 {
        guard now > start else { return 0 }
        var time = now - start
        for pause in pauses { time -= max(min(pause.upperBound, now) - max(pause.lowerBound, start), 0) }
        if let began { time -= max(now - max(began, start), 0) }
        return max(time, 0)
    }
}
