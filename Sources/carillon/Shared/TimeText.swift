import Pipeline
import Telemetry

/// Times for a person.
enum TimeText {
    /// `2026-11-21T16:14:01.042Z`.
    static func iso8601(_ milliseconds: Int64) -> String { LogTime(milliseconds: milliseconds).iso8601 }

    /// Milliseconds since 1970 of an ISO time such as `2026-11-21T10:00:00Z`; nil if it is no such time.
    static func milliseconds(_ text: String) -> Int64? {
        guard case .time(let milliseconds) = PipelineConfiguration.StartPosition(text) else { return nil }
        return milliseconds
    }
}

extension TimerWatermark {
    /// The time, followed by `p` while the timers of one instant are split.
    var text: String { TimeText.iso8601(time) + (splitText.map { " p=\($0)" } ?? "") }
}
