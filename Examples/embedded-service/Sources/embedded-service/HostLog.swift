import Foundation
import Pipeline

/// Passes the pipeline's log entries to the host's logging; here it prints one line each on standard error.
///
/// With swift-log it is `logger.log(level: …, "\(entry.message)", metadata: …)`; the levels have the same names.
struct HostLog: LogSink {
    func write(_ entry: LogEntry) {
        let metadata = entry.metadata.map { " \($0.key)=\($0.value)" }.sorted().joined()
        Self.line("\(entry.time.iso8601) \(entry.level.rawValue) \(entry.label): \(entry.message)\(metadata)")
    }

    static func line(_ text: String) {
        FileHandle.standardError.write(Data((text + "\n").utf8))
    }
}
