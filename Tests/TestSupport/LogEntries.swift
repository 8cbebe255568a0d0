import Synchronization
import Telemetry

/// Keeps the log lines of one test.
package final class LogEntries: LogSink {
    private let kept = Mutex<[String]>([])

    package init() {}

    package func write(_ entry: LogEntry) { kept.withLock { $0.append(entry.message) } }

    package var messages: [String] { kept.withLock { $0 } }
}
