import Foundation
import Synchronization

/// Tells the service manager how the process is, on a thread of its own, until it ends. Any thread.
package final class ServiceNotifier: Sendable {
    private let manager: ServiceManager
    private let state: @Sendable () -> ServiceState
    private let notices: Mutex<ServiceNotices>
    private let hasEnded = DispatchSemaphore(value: 0)

    /// - Parameters:
    ///   - drainTimeout: how long a drain may take.
    ///   - state: is asked each second, or more often where the watchdog's interval wants it.
    package init(
        _ manager: ServiceManager, drainTimeout: Duration, state: @escaping @Sendable () -> ServiceState
    ) {
        self.manager = manager
        self.state = state
        notices = Mutex(ServiceNotices(watchdogInterval: manager.watchdogInterval, drainTimeout: drainTimeout))
        let pause = min(.seconds(1), (manager.watchdogInterval ?? .seconds(2)) / 2) / .seconds(1)
        Thread.start("carillon-notify") {
            repeat { self.tell() } while self.hasEnded.wait(timeout: .now() + pause) == .timedOut
        }
    }

    /// The process begins to drain.
    package func stops() {
        notices.withLock { $0.stops() }
        tell()
    }

    /// The process ends.
    package func end() {
        stops()
        hasEnded.signal()
    }

    /// Tells what is due. What the manager does not take is due again.
    private func tell() {
        let state = state()
        notices.withLock { notices in
            var next = notices
            let lines = next.next(state)
            if lines.isEmpty || manager.tell(lines) { notices = next }
        }
    }
}
