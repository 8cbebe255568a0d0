import Synchronization

/// What the registrar of a process is doing, for readiness and monitoring. Any thread.
final class RegistrarBoard: Sendable {
    struct Reading: Equatable, Sendable {
        /// Whether the commands are this one's; at most one registrar of a group has them.
        var isActive = false
        /// Whether it decides, or waits for its turn.
        var isReading = false
        /// Commands that are not decided yet; nil before the first measurement, or where they are another one's.
        var lag: Int?
    }

    private let reading = Mutex(Reading())

    func set(_ reading: Reading) { self.reading.withLock { $0 = reading } }

    var now: Reading { reading.withLock { $0 } }
}
