import Pipeline
import Telemetry

/// Times for a person.
enum TimeText {
    /// `2026-11-21T16:14:01.042Z`.
    static func iso8601(_ milliseconds: Int64) -> String { WallTime(milliseconds: milliseconds).iso8601 }
}

extension TimerWatermark {
    /// The time, followed by `p` while the timers of one instant are split.
    var text: String { TimeText.iso8601(time) + (splitText.map { " p=\($0)" } ?? "") }
}
