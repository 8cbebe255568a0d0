import KafkaClient
import Pipeline

/// The value of `offsets set --watermark`.
enum WatermarkTarget: Equatable {
    case now
    /// Milliseconds since 1970.
    case time(Int64)

    /// nil if the text is neither.
    init?(_ text: String) {
        if text == "now" {
            self = .now
        } else if let milliseconds = TimeText.milliseconds(text) {
            self = .time(milliseconds)
        } else {
            return nil
        }
    }
}

/// The value of `offsets set --to`.
enum OffsetTarget: Equatable {
    case earliest
    case latest
    case time(Timestamp)
    case offset(Offset)

    /// nil if the text is none of these.
    init?(_ text: String) {
        if let number = Int64(text) {
            guard number >= 0 else { return nil }
            self = .offset(Offset(number))
            return
        }
        switch PipelineConfiguration.StartPosition(text) {
        case .earliest: self = .earliest
        case .latest: self = .latest
        case .time(let milliseconds): self = .time(Timestamp(milliseconds: milliseconds))
        case nil: return nil
        }
    }
}
