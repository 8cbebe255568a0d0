/// A date in the calendar of ISO 8601 (proleptic Gregorian), from year 1 to 9999.
package struct CivilDate: Equatable {
    // Four bytes instead of 24: a date is copied with every value that may have one.
    private let yearNumber: Int16
    private let monthNumber: UInt8
    private let dayNumber: UInt8

    var year: Int { Int(yearNumber) }
    var month: Int { Int(monthNumber) }
    var day: Int { Int(dayNumber) }

    /// 9999-12-31.
    package static let last = CivilDate(validYear: 9999, month: 12, day: 31)

    private init(validYear year: Int, month: Int, day: Int) {
        yearNumber = Int16(truncatingIfNeeded: year)
        monthNumber = UInt8(truncatingIfNeeded: month)
        dayNumber = UInt8(truncatingIfNeeded: day)
    }

    /// Nil if there is no such day: 2025-02-30 does not roll over (docs/rules.md §5.1).
    package init?(year: Int, month: Int, day: Int) {
        guard (1...9999).contains(year), (1...12).contains(month), day >= 1,
            day <= Self.days(inMonth: month, of: year)
        else { return nil }
        self.init(validYear: year, month: month, day: day)
    }

    /// Nil outside years 1 to 9999.
    package init?(daysSinceEpoch days: Int) {
        guard (-719_162...2_932_896).contains(days) else { return nil }
        // Eras of 400 years that begin on March 1, so that the leap day is the last of its year.
        let shifted = days + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        self.init(
            validYear: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month: month,
            day: dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }

    package var daysSinceEpoch: Int {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = shiftedYear / 400
        let yearOfEra = shiftedYear % 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    private static func days(inMonth month: Int, of year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Writes `YYYY-MM-DD` and returns its length.
    package func write(to buffer: UnsafeMutablePointer<UInt8>) -> Int {
        write(year / 100, to: buffer)
        write(year % 100, to: buffer + 2)
        buffer[4] = UInt8(ascii: "-")
        write(month, to: buffer + 5)
        buffer[7] = UInt8(ascii: "-")
        write(day, to: buffer + 8)
        return 10
    }

    private func write(_ twoDigits: Int, to buffer: UnsafeMutablePointer<UInt8>) {
        buffer[0] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: twoDigits / 10)
        buffer[1] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: twoDigits % 10)
    }
}
