import Telemetry

/// What a service manager is told, and when: `READY=1` once, `STATUS=` when it changes, `WATCHDOG=1` at each interval while
/// the process is live, `STOPPING=1` when it begins to drain.
///
/// `READY=1` is due as soon as the process can be asked how it is: a start that waits for a broker must not end by
/// `TimeoutStartSec`. What the process waits for is in `STATUS=`.
struct ServiceNotices {
    /// systemd drops a datagram of more than 4,096 bytes.
    private static let longestStatus = 1_000

    private let watchdogInterval: Duration?
    private let drainTimeout: Duration
    private var isReady = false
    private var isStopping = false
    private var hasSaidStopping = false
    private var status = ""
    private var nextWatchdog: ContinuousClock.Instant?

    /// - Parameters:
    ///   - watchdogInterval: nil: nobody waits for `WATCHDOG=1`.
    ///   - drainTimeout: how long a drain may take by the settings, which may be longer than `TimeoutStopSec`.
    init(watchdogInterval: Duration?, drainTimeout: Duration) {
        self.watchdogInterval = watchdogInterval
        self.drainTimeout = drainTimeout
    }

    mutating func stops() { isStopping = true }

    /// - Returns: the lines that are due.
    mutating func next(_ state: ServiceState, now: ContinuousClock.Instant = .now) -> [String] {
        var lines: [String] = []
        if !isReady { lines.append("READY=1") }
        isReady = true
        if isStopping, !hasSaidStopping {
            let microseconds = (drainTimeout + .seconds(5)).components.seconds * 1_000_000
            lines += ["STOPPING=1", "EXTEND_TIMEOUT_USEC=\(microseconds)"]
        }
        hasSaidStopping = isStopping
        let status = String(decoding: state.text.utf8.prefix(Self.longestStatus), as: UTF8.self)
        if status != self.status { lines.append("STATUS=\(status)") }
        self.status = status
        if let watchdogInterval, state.stuck.isEmpty, nextWatchdog.map({ now >= $0 }) ?? true {
            lines.append("WATCHDOG=1")
            nextWatchdog = now + watchdogInterval
        }
        return lines
    }
}

/// How a process is, as its pages say it.
package struct ServiceState: Sendable {
    /// Why it does not do its work; empty: it does.
    package var unready: [String]
    /// What does not recover by itself; empty: it is live.
    package var stuck: [String]
    /// The roles' newest lines of status.
    package var status: [String]

    package init(unready: [String], stuck: [String], status: [String]) {
        self.unready = unready
        self.stuck = stuck
        self.status = status
    }

    /// For `systemctl status`, in one line.
    fileprivate var text: String {
        switch (stuck.first, unready.first) {
        case (let stuck?, _): "not live: \(stuck)".inOneLine
        case (nil, let reason?): "not ready: \(reason)".inOneLine
        case (nil, nil): status.isEmpty ? "ready" : status.joined(separator: "; ").inOneLine
        }
    }
}
