import Telemetry

/// Times for a person.
enum TimeText {
    /// `2026-11-21T16:14:01.042Z`.
    static func iso8601(_ milliseconds: Int64) -> String { LogTime(milliseconds: milliseconds).iso8601 }
}
