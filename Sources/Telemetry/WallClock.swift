import Foundation

/// The wall clock of this machine, and the only place that reads it: whatever needs a time below takes it as an argument.
///
/// It may be set, so that it jumps or goes back. What has to last is measured by `ContinuousClock`.
package enum WallClock {
    /// Milliseconds since 1970-01-01T00:00:00Z. Any thread.
    package static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}
