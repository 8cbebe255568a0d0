import Notifications

/// The header `Retry-After` (RFC 9110 §10.2.3): seconds, or a date in one of HTTP's three forms.
package enum RetryAfter: Equatable, Sendable {
    /// In milliseconds.
    case delay(Int64)
    case date(WallTime)

    /// The longest time that is waited for: a day. A provider's typing error must not hold a message for ever.
    static let longest: Int64 = 86_400_000

    /// Nil for a text that is neither.
    package init?(_ text: String) {
        let text = text.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
        if !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
            self = .delay(Int64(text).map { min($0, Self.longest / 1_000) * 1_000 } ?? Self.longest)
        } else if let date = HTTPDate.time(text) {
            self = .date(date)
        } else {
            return nil
        }
    }

    /// How long to wait, in milliseconds, from 0 to a day.
    ///
    /// - Parameter now: the sender of the header's own clock, if the answer has it (`date`): ours may differ.
    package func wait(now: WallTime) -> Int64 {
        switch self {
        case .delay(let delay): delay
        case .date(let date): date - min(max(now, date - Self.longest), date)
        }
    }
}

/// A date as HTTP writes it (RFC 9110 §5.6.7). Written by hand: general parsers accept dates that do not exist.
package enum HTTPDate {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// `Sun, 06 Nov 1994 08:49:37 GMT`, and of older servers `Sunday, 06-Nov-94 08:49:37 GMT` and
    /// `Sun Nov 6 08:49:37 1994`; nil for any other text.
    package static func time(_ text: String) -> WallTime? {
        let words = text.split(separator: " ").map(String.init)
        switch words.count {
        case 6 where words[0].hasSuffix(",") && words[5] == "GMT":
            return time(year: number(words[3], 4), month: words[2], day: number(words[1], 2), clock: words[4])
        case 4 where words[0].hasSuffix(",") && words[3] == "GMT":
            let date = words[1].split(separator: "-", omittingEmptySubsequences: false).map(String.init)
            guard date.count == 3, let year = number(date[2], 2) else { return nil }
            // Two digits: this century, until a sender writes the year 2070.
            let full = year < 70 ? 2_000 + year : 1_900 + year
            return time(year: full, month: date[1], day: number(date[0], 2), clock: words[2])
        case 5:
            return time(year: number(words[4], 4), month: words[1], day: number(words[2], nil), clock: words[3])
        default:
            return nil
        }
    }

    private static func time(year: Int?, month: String, day: Int?, clock: String) -> WallTime? {
        let parts = clock.split(separator: ":", omittingEmptySubsequences: false).map { number(String($0), 2) }
        guard let year, let day, let month = months.firstIndex(of: month), parts.count == 3,
            let hour = parts[0], let minute = parts[1], let second = parts[2], hour < 24, minute < 60, second <= 60,
            let date = CivilDate(year: year, month: month + 1, day: day)
        else { return nil }
        let seconds = date.daysSinceEpoch * 86_400 + hour * 3_600 + minute * 60 + second
        return WallTime(milliseconds: Int64(seconds) * 1_000)
    }

    private static func number(_ text: String, _ digits: Int?) -> Int? {
        guard digits == nil || text.utf8.count == digits, (1...4).contains(text.utf8.count),
            text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return Int(text)
    }
}
