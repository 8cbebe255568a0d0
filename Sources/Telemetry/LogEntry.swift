import Foundation

/// A log entry.
public struct LogEntry: Sendable {
    public var time: WallTime
    public var level: Logger.Level
    public var label: String
    /// One sentence.
    public var message: String
    public var metadata: Logger.Metadata

    public init(time: WallTime, level: Logger.Level, label: String, message: String, metadata: Logger.Metadata = [:]) {
        self.time = time
        self.level = level
        self.label = label
        self.message = message
        self.metadata = metadata
    }
}

/// Where log entries go. Called from any thread; an implementation keeps an entry whole and never blocks for long.
public protocol LogSink: Sendable {
    func write(_ entry: LogEntry)
}
