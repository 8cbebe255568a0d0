import Foundation

/// A log entry.
public struct LogEntry: Sendable {
    public var time: LogTime
    public var level: Logger.Level
    public var label: String
    /// One sentence.
    public var message: String
    public var metadata: Logger.Metadata

    public init(time: LogTime, level: Logger.Level, label: String, message: String, metadata: Logger.Metadata = [:]) {
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

/// The moment of a log entry: milliseconds since 1970-01-01T00:00:00Z.
public struct LogTime: Hashable, Sendable {
    public var milliseconds: Int64

    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    public static func now() -> LogTime { LogTime(milliseconds: WallClock.now) }

    /// `2026-11-21T16:14:01.042Z`.
    public var iso8601: String {
        var seconds = time_t(milliseconds >= 0 ? milliseconds / 1_000 : (milliseconds - 999) / 1_000)
        let fraction = Int(milliseconds - Int64(seconds) * 1_000)
        var date = tm()
        gmtime_r(&seconds, &date)
        func padded(_ number: Int, _ width: Int) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        let day = [padded(Int(date.tm_year) + 1_900, 4), padded(Int(date.tm_mon) + 1, 2), padded(Int(date.tm_mday), 2)]
        let time = [padded(Int(date.tm_hour), 2), padded(Int(date.tm_min), 2), padded(Int(date.tm_sec), 2)]
        return day.joined(separator: "-") + "T" + time.joined(separator: ":") + "." + padded(fraction, 3) + "Z"
    }
}
