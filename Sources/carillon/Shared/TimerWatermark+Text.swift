import Pipeline

extension TimerWatermark {
    /// The time, followed by `p` while the timers of one instant are split.
    var text: String { time.iso8601 + (splitText.map { " p=\($0)" } ?? "") }
}
