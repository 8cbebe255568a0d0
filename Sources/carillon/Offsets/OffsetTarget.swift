import KafkaClient
import Pipeline

/// The value of `offsets set --watermark`.
enum WatermarkTarget: Equatable {
    case now
    case time(GivenTime)

    /// nil if the text is neither.
    init?(_ text: String) {
        if text == "now" {
            self = .now
        } else if let time = GivenTime(text) {
            self = .time(time)
        } else {
            return nil
        }
    }
}

/// The value of `offsets set --to`.
enum OffsetTarget: Equatable {
    case earliest
    case latest
    case time(GivenTime)
    case offset(Offset)

    /// nil if the text is none of these.
    init?(_ text: String) {
        if let number = Int64(text) {
            guard number >= 0 else { return nil }
            self = .offset(Offset(number))
            return
        }
        switch text.lowercased() {
        case "earliest": self = .earliest
        case "latest": self = .latest
        default:
            guard let time = GivenTime(text) else { return nil }
            self = .time(time)
        }
    }
}
