import Telemetry

/// The pipeline's time: the wall clock as it was at the start, plus the time that has passed since then by the machine's
/// own clock (`CLOCK_BOOTTIME`, which ``ContinuousClock`` is). Setting the wall clock moves no timer. Any thread.
package struct PipelineClock: Sendable {
    private let wall: WallTime
    private let began: ContinuousClock.Instant

    package init(wall: WallTime = WallClock.now, began: ContinuousClock.Instant = .now) {
        self.wall = wall
        self.began = began
    }

    package func now(_ now: ContinuousClock.Instant = .now) -> WallTime {
        let time = wall + (now - began).wholeMilliseconds
        #if DEBUG
            return time + FaultClock.offset
        #else
            return time
        #endif
    }
}

/// Notices that the wall clock has been set: the two clocks differ, and the pipeline cannot know which one is right.
package struct ClockWatch {
    package enum Finding: Equatable {
        case good
        /// By so much; the pipeline is not ready.
        case isOff(Duration)
        /// For so long that only a restart, which takes the wall clock as it is then, helps.
        case staysOff(Duration)
    }

    private static let tolerance = Duration.seconds(60)
    private static let patience = Duration.seconds(600)
    private var offSince: ContinuousClock.Instant?

    package init() {}

    /// Compares the clocks.
    ///
    /// - Parameter drift: by how much the wall clock is ahead.
    package mutating func look(drift: Duration, now: ContinuousClock.Instant = .now) -> Finding {
        guard drift > Self.tolerance || drift < .zero - Self.tolerance else {
            offSince = nil
            return .good
        }
        let since = offSince ?? now
        offSince = since
        return now - since < Self.patience ? .isOff(drift) : .staysOff(drift)
    }
}
