import Synchronization
import Telemetry

/// Keeps the log lines of one test.
package final class LogEntries: LogSink {
    private let kept = Mutex<[LogEntry]>([])

    package init() {}

    package func write(_ entry: LogEntry) { kept.withLock { $0.append(entry) } }

    package var all: [LogEntry] { kept.withLock { $0 } }

    package var messages: [String] { all.map(\.message) }
}
