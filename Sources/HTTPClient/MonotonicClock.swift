import Glibc

enum MonotonicClock {
    /// Nanoseconds since some time in the past, those in which the machine was suspended among them, as `ContinuousClock` counts.
    static var now: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}

extension Duration {
    /// At least 1, so that a short time is not taken for none.
    var wholeMilliseconds: Int {
        max(1, Int(components.seconds) * 1_000 + Int(components.attoseconds / 1_000_000_000_000_000))
    }

    var wholeNanoseconds: UInt64 {
        UInt64(clamping: components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000)
    }
}
