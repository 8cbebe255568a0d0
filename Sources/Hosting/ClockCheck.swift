import Telemetry

/// Whether a worker may decide by its clock what is over: while the wall clock agrees with it, and once the broker's clock has
/// (ADR 60). One owner.
package struct ClockCheck {
    /// In milliseconds; more than synchronized clocks ever differ.
    package static let tolerance: Int64 = 60_000
    /// How often the clock had followed the wall clock when the broker's agreed with it; nil: it never has.
    package private(set) var agreed: Int?
    private var nextLook = ContinuousClock.now

    package init() {}

    package func isRight(_ host: RoleHost) -> Bool { host.health.clockIsOff == nil && agreed == host.clock.changes }

    /// Whether the broker is to be asked for its time.
    package mutating func isLookDue(_ host: RoleHost, now: ContinuousClock.Instant = .now) -> Bool {
        guard host.health.clockIsOff == nil, agreed != host.clock.changes, now >= nextLook else { return false }
        nextLook = now + .seconds(2)
        return true
    }

    /// Compares the broker's time with the clock's, and tells where they differ.
    ///
    /// - Parameters:
    ///   - brokerTime: nil where the broker does not tell.
    ///   - name: whose clock it is, in what is told of the process.
    package mutating func compare(_ brokerTime: WallTime?, _ host: RoleHost, of name: String, _ logger: Logger) {
        let changes = host.clock.changes
        let ahead = brokerTime.map { host.clock.now() - $0 } ?? 0
        guard abs(ahead) > Self.tolerance else {
            agreed = changes
            host.health.clockIsAhead(nil, of: name)
            return
        }
        host.health.clockIsAhead(ahead / 1_000, of: name)
        if host.patience.isDue("clock of \(name)") {
            logger.warning(
                "the clock is \(ahead / 1_000) s ahead of the broker's: not ready; nothing is sent until they agree: set "
                    + "this machine's clock, or the broker's")
        }
    }
}
