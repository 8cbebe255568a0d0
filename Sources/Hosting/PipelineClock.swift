import Synchronization
import Telemetry

/// A role's time: the wall clock as it was at the start, or when it was followed last, plus the time that has passed since by
/// the machine's own clock (`CLOCK_BOOTTIME`, which ``ContinuousClock`` is). Setting the wall clock moves no timer before
/// that (ADR 60). Any thread.
package final class PipelineClock: Sendable {
    /// The wall clock when the other one showed `began`, in milliseconds.
    private let base: Atomic<Int64>
    private let began: ContinuousClock.Instant
    private let followed = Atomic<Int>(0)

    package init(wall: WallTime = PipelineClock.wall, began: ContinuousClock.Instant = .now) {
        base = Atomic(wall.milliseconds)
        self.began = began
    }

    package func now(_ now: ContinuousClock.Instant = .now) -> WallTime {
        WallTime(milliseconds: base.load(ordering: .acquiring)) + (now - began).wholeMilliseconds
    }

    /// How often it has followed the wall clock.
    package var changes: Int { followed.load(ordering: .acquiring) }

    /// The wall clock is right. All roles of a process share this clock: the first one that says so counts.
    func follow(_ wall: WallTime, now: ContinuousClock.Instant = .now) {
        let before = base.load(ordering: .acquiring)
        let after = wall.milliseconds - (now - began).wholeMilliseconds
        guard abs(after - before) > ClockCheck.tolerance,
            base.compareExchange(expected: before, desired: after, ordering: .acquiringAndReleasing).exchanged
        else { return }
        followed.add(1, ordering: .releasing)
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

    package init() {}

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
