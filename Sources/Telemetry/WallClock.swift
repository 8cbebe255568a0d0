import Foundation

/// The wall clock of this machine. Nothing else reads it; the core takes the time as an argument.
///
/// It can be set, so it may jump, also backwards. Durations and deadlines are measured by `ContinuousClock`.
package enum WallClock {
    /// Any thread.
    package static var now: WallTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return WallTime(milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
