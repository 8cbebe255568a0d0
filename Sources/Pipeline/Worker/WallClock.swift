import Glibc

/// The wall clock, read by the workers alone: the core takes time as an argument.
enum WallClock {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}
