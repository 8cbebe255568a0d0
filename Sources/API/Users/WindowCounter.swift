import Time

/// How often something happened within a time, by a name.
struct WindowCounter {
    private struct Count {
        var since: WallTime
        var count: Int
    }

    /// With more names than these within the time all are forgotten: who has so many is not bounded by this.
    private static let mostNames = 100_000

    let most: Int
    /// In milliseconds.
    private let window: Int64
    private var counts: [String: Count] = [:]

    init(most: Int, within window: Duration) {
        (self.most, self.window) = (most, window.wholeMilliseconds)
    }

    /// Whether it has happened less often than ``most`` within the time.
    func isBelow(_ name: String, at now: WallTime) -> Bool {
        guard let count = counts[name], count.count >= most else { return true }
        return abs(now - count.since) >= window
    }

    mutating func count(_ name: String, at now: WallTime) {
        var count = counts[name] ?? Count(since: now, count: 0)
        if abs(now - count.since) >= window { count = Count(since: now, count: 0) }
        count.count += 1
        if counts.count >= Self.mostNames, counts[name] == nil {
            counts = counts.filter { abs(now - $0.value.since) < window }
            if counts.count >= Self.mostNames { counts.removeAll() }
        }
        counts[name] = count
    }
}
