import Glibc

/// How the time of something grows as its size doubles.
package struct Growth: CustomStringConvertible {
    /// The least time of each size, in nanoseconds.
    private var once = Int.max
    private var twice = Int.max

    /// Measures until the growth of one round is linear, or that of no round is. Each round begins again, since what a busy
    /// machine measures must not be compared with what it measured while it was idle.
    package init(_ once: () throws -> Void, twice: () throws -> Void) rethrows {
        for round in 0..<8 where round == 0 || !isLinear {
            (self.once, self.twice) = (.max, .max)
            for _ in 0..<5 {
                self.once = min(self.once, try Self.time(once))
                self.twice = min(self.twice, try Self.time(twice))
            }
        }
    }

    /// Whether twice the size takes at most 2.3 times the time.
    package var isLinear: Bool { Double(twice) <= 2.3 * Double(once) }

    package var description: String { "\(once) ns, then \(twice) ns" }

    /// The CPU time of this thread.
    private static func time(_ body: () throws -> Void) rethrows -> Int {
        let start = now
        try body()
        return now - start
    }

    private static var now: Int {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}
