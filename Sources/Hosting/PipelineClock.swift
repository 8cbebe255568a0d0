import Synchronization
import Telemetry

/// A process's time: the wall clock as it was at the start, or when it was followed last, plus the time that has passed since by
/// the machine's own clock (`CLOCK_BOOTTIME`, which ``ContinuousClock`` is). Setting the wall clock moves no timer before
/// that (ADR 60). All roles of a process share it, and each looks whether the wall clock was set; what one finds is known to
/// all, and is told once. Any thread.
package final class PipelineClock: Sendable {
    /// The wall clock when the other one showed `began`, in milliseconds.
    private let base: Atomic<Int64>
    private let began: ContinuousClock.Instant
    package let time: TimeSource
    private let followed = Atomic<Int>(0)
    private let watch = Mutex<(drift: ClockWatch, off: Int64?, told: ContinuousClock.Instant?)>(
        (ClockWatch(), nil, nil))

    package init(
        wall: WallTime = PipelineClock.wall, began: ContinuousClock.Instant? = nil, time: TimeSource = .machine
    ) {
        base = Atomic(wall.milliseconds)
        self.began = began ?? time.now()
        self.time = time
    }

    package func now() -> WallTime { now(time.now()) }

    package func now(_ now: ContinuousClock.Instant) -> WallTime {
        WallTime(milliseconds: base.load(ordering: .acquiring)) + (now - began).wholeMilliseconds
    }

    /// How often it has followed the wall clock.
    package var changes: Int { followed.load(ordering: .acquiring) }

    /// By how many seconds the wall clock was set, until it has stayed there; nil: it was not.
    package var isOff: Int64? { watch.withLock { $0.off } }

    /// Compares this clock with the wall clock, and follows that once it has stayed where it was set.
    package func compare(with wall: WallTime, now: ContinuousClock.Instant = .now, _ logger: Logger) {
        // Whichever role looks first speaks for all.
        var logger = logger
        logger.metadata["role"] = nil
        watch.withLock { watch in
            switch watch.drift.look(drift: .milliseconds(wall - self.now(now)), now: now) {
            case .good:
                watch.off = nil
            case .isOff(let drift):
                watch.off = drift.components.seconds
                if let told = watch.told, now - told < .seconds(10) { return }
                watch.told = now
                logger.warning(
                    "the wall clock is off by \(drift.components.seconds) s since the start: not ready; what depends on "
                        + "the time continues by the elapsed time")
            case .settled(let drift):
                base.store(wall.milliseconds - (now - began).wholeMilliseconds, ordering: .releasing)
                followed.add(1, ordering: .releasing)
                watch.off = nil
                logger.notice(
                    "the wall clock was set by \(drift.components.seconds) s and has stayed there: it is followed")
            }
        }
    }

    /// The wall clock; in a debug build, as a test has set it.
    package static var wall: WallTime {
        #if DEBUG
            WallClock.now + FaultClock.offset
        #else
            WallClock.now
        #endif
    }
}

/// Notices that the wall clock has been set. Nobody knows at first which of the two clocks is right: what depends on the time
/// waits, until the wall clock has stayed where it was set.
package struct ClockWatch {
    package enum Finding: Equatable {
        case good
        /// By so much.
        case isOff(Duration)
        /// By so much, and that is not going to change.
        case settled(Duration)
    }

    private static let tolerance = Duration.seconds(60)
    private static let patience = Duration.seconds(10)
    /// A clock that is only adjusted moves by less in that time.
    private static let slack = Duration.seconds(1)
    private var off: (drift: Duration, since: ContinuousClock.Instant)?

    /// Compares the clocks.
    ///
    /// - Parameter drift: by how much the wall clock is ahead.
    package mutating func look(drift: Duration, now: ContinuousClock.Instant = .now) -> Finding {
        guard Self.size(drift) > Self.tolerance else {
            off = nil
            return .good
        }
        guard let off, Self.size(drift - off.drift) <= Self.slack else {
            self.off = (drift, now)
            return .isOff(drift)
        }
        guard now - off.since >= Self.patience else { return .isOff(drift) }
        self.off = nil
        return .settled(drift)
    }

    private static func size(_ drift: Duration) -> Duration { max(drift, .zero - drift) }
}
