/// A time as a person gives it in a flag or a setting.
package enum GivenTime: Equatable {
    case at(WallTime)
    /// So long before the start of the command.
    case ago(Duration)

    /// What a text may be, for help and messages.
    package static let allowed =
        "a time such as 2026-11-21T10:00:00Z, a date such as 2026-11-21 (midnight UTC), or so long ago, such as -1h"

    /// An ISO 8601 time from 1970 to 9999, a date, or a duration with a minus: `-90s`, `-15m`, `-2h`, `-1d`. What has no
    /// offset is UTC. Nil where the text is none of these, or a day or a time that does not exist.
    package init?(_ text: String) {
        if text.first == "-" {
            guard let duration = ConfigurationText.duration(String(text.dropFirst())) else { return nil }
            self = .ago(duration)
            return
        }
        // Bare numbers are offsets and clock times have no day, though a Moment may be either.
        guard text.utf8.count >= 10, text.utf8.dropFirst(4).first == UInt8(ascii: "-") else { return nil }
        var bytes = text
        guard let moment = bytes.withUTF8({ Moment(UnsafeRawBufferPointer($0)) }) else { return nil }
        let midnight: Moment? =
            switch moment {
            case .date(let date): .local(date, millisecondsOfDay: 0)
            case .local, .instant: moment
            case .time, .endOfDay, .endOfDayInstant: nil
            }
        guard let time = midnight?.eventTime else { return nil }
        self = .at(time)
    }

    /// Never before 1970.
    ///
    /// - Parameter now: when the command was started, the same for all its times.
    package func time(now: WallTime) -> WallTime {
        switch self {
        case .at(let time): time
        case .ago(let duration): max(.epoch, now - duration.wholeMilliseconds)
        }
    }
}
