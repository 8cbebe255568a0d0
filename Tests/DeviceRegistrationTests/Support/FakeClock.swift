import Synchronization

/// A clock that a pause moves: nobody waits.
final class FakeClock: Clock {
    struct Instant: InstantProtocol {
        var time: Swift.Duration = .zero
        func advanced(by duration: Swift.Duration) -> Instant { Instant(time: time + duration) }
        func duration(to other: Instant) -> Swift.Duration { other.time - time }
        static func < (left: Instant, right: Instant) -> Bool { left.time < right.time }
    }

    private let state = Mutex<(now: Instant, pauses: [Swift.Duration])>((Instant(), []))
    var minimumResolution: Swift.Duration { .zero }

    var now: Instant { state.withLock { $0.now } }
    var pauses: [Swift.Duration] { state.withLock { $0.pauses } }

    func sleep(until deadline: Instant, tolerance: Swift.Duration?) {
        state.withLock { state in
            state.pauses.append(state.now.duration(to: deadline))
            state.now = max(state.now, deadline)
        }
    }
}
