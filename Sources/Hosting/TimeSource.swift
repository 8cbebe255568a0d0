import Foundation

/// The time that threads go by: the machine's, or a simulation's.
package struct TimeSource: Sendable {
    package var now: @Sendable () -> ContinuousClock.Instant
    package var sleep: @Sendable (Duration) -> Void

    package init(now: @escaping @Sendable () -> ContinuousClock.Instant, sleep: @escaping @Sendable (Duration) -> Void)
    {
        self.now = now
        self.sleep = sleep
    }

    package static let machine = TimeSource(
        now: { .now },
        sleep: {
            Thread.sleep(forTimeInterval: Double($0.components.seconds) + Double($0.components.attoseconds) / 1e18)
        })
}
