import Extraction
import JSONReader

extension EventTime {
    /// `registered_at` and `last_seen_at`: ISO 8601 with `Z` or an offset, or milliseconds since 1970. Strict: a date
    /// that does not exist is refused instead of rolled over (push-rules §5.1).
    init?(subscriptionTime value: JSONValue) {
        if let number = value.integer {
            guard Self.range.contains(number) else { return nil }
            self.init(milliseconds: number)
        } else if let text = value.string {
            self.init(iso8601: text.bytes)
        } else {
            return nil
        }
    }

    /// 1970 to the last millisecond of year 9999.
    private static let range: ClosedRange<Int64> = 0...253_402_300_799_999

    /// `YYYY-MM-DDTHH:MM:SS[.f…]` and `Z`, `+HH:MM` or `-HH:MM`.
    init?(iso8601 text: UnsafeRawBufferPointer) {
        var text = text[...]
        guard let year = Self.number(&text, 4), Self.skip(&text, "-"), let month = Self.number(&text, 2),
            Self.skip(&text, "-"), let day = Self.number(&text, 2), Self.skip(&text, "T"),
            let hour = Self.number(&text, 2), Self.skip(&text, ":"), let minute = Self.number(&text, 2),
            Self.skip(&text, ":"), let second = Self.number(&text, 2),
            (1...12).contains(month), (1...Self.days(inMonth: month, of: year)).contains(day),
            hour < 24, minute < 60, second < 60
        else { return nil }
        var milliseconds: Int64 = 0
        if Self.skip(&text, ".") {
            let fraction = text.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
            guard !fraction.isEmpty else { return nil }
            text = text.dropFirst(fraction.count)
            for (digit, weight) in zip(fraction, [100, 10, 1] as [Int64]) {
                milliseconds += Int64(digit - UInt8(ascii: "0")) * weight
            }
        }
        guard let offset = Self.offsetMinutes(&text), text.isEmpty else { return nil }
        let days = Self.daysSinceEpoch(year, month, day)
        let minutes = days * 1_440 + Int64(hour * 60 + minute - offset)
        let total = minutes * 60_000 + Int64(second) * 1_000 + milliseconds
        guard Self.range.contains(total) else { return nil }
        self.init(milliseconds: total)
    }

    /// `2025-07-07T14:00:00.000Z`.
    var iso8601: String {
        let days = milliseconds.dividedRoundingDown(by: 86_400_000)
        let rest = milliseconds - days * 86_400_000
        // Years that begin on March 1, in eras of 400, so that the leap day is the last of its year.
        let shifted = days + 719_468
        let era = shifted.dividedRoundingDown(by: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        let date = "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
        let clock = "\(padded(rest / 3_600_000, 2)):\(padded(rest / 60_000 % 60, 2)):\(padded(rest / 1_000 % 60, 2))"
        return "\(date)T\(clock).\(padded(rest % 1_000, 3))Z"
    }

    private func padded(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(width - digits.count, 0)) + digits
    }

    private static func number(_ text: inout Slice<UnsafeRawBufferPointer>, _ count: Int) -> Int? {
        let digits = text.prefix(count)
        guard digits.count == count, digits.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 })
        else { return nil }
        text = text.dropFirst(count)
        return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    private static func skip(_ text: inout Slice<UnsafeRawBufferPointer>, _ character: Unicode.Scalar) -> Bool {
        guard text.first == UInt8(ascii: character) else { return false }
        text = text.dropFirst()
        return true
    }

    private static func offsetMinutes(_ text: inout Slice<UnsafeRawBufferPointer>) -> Int? {
        if skip(&text, "Z") { return 0 }
        let sign = skip(&text, "+") ? 1 : skip(&text, "-") ? -1 : 0
        guard sign != 0, let hours = number(&text, 2), skip(&text, ":"), let minutes = number(&text, 2),
            hours < 24, minutes < 60
        else { return nil }
        return sign * (hours * 60 + minutes)
    }

    private static func days(inMonth month: Int, of year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    private static func daysSinceEpoch(_ year: Int, _ month: Int, _ day: Int) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let yearOfEra = shifted % 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return Int64(shifted / 400 * 146_097 + dayOfEra - 719_468)
    }
}

extension Int64 {
    fileprivate func dividedRoundingDown(by divisor: Int64) -> Int64 {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
