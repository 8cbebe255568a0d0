import Telemetry

/// Whether a worker may decide by its clock what is over: while the wall clock agrees with it, and once the broker's clock has
/// (ADR 60). One owner.
package struct ClockCheck {
    /// In milliseconds; more than synchronized clocks ever differ.
    package static let tolerance: Int64 = 60_000
    /// How often the clock had followed the wall clock when the broker's agreed with it; nil: it never has.
    package private(set) var agreed: Int?
    private var nextLook: ContinuousClock.Instant?
    /// The same when the broker was asked last.
    private var looked: Int?

    package init() {}

    /// By so many seconds: `7200 s ahead of`, `7200 s behind`.
    package static func text(_ ahead: Int64) -> String { ahead < 0 ? "\(-ahead) s behind" : "\(ahead) s ahead of" }

    package func isRight(_ host: RoleHost) -> Bool { host.clock.isOff == nil && agreed == host.clock.changes }

    /// Whether the broker is to be asked for its time.
    package mutating func isLookDue(_ host: RoleHost, now: ContinuousClock.Instant = .now) -> Bool {
        let changes = host.clock.changes
        guard host.clock.isOff == nil, agreed != changes, looked != changes || nextLook.map({ now >= $0 }) ?? true
        else {
            return false
        }
        looked = changes
        nextLook = now + .seconds(10)
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
                "the clock is \(Self.text(ahead / 1_000)) the broker's: not ready; what may be over waits until they agree: set "
                    + "this machine's clock, or the broker's")
        }
    }
}
