import JSONReader

extension Moment {
    /// Longer texts are neither a date nor a time.
    package static let maxCount = 64

    /// A JSON value: a text, or a number since 1970. Nil for anything that docs/rules.md §5.2 does not allow.
    package init?(_ value: JSONValue) {
        if let text = value.string {
            self.init(text.bytes.trimmed)
        } else if let integer = value.integer {
            self.init(epoch: integer)
        } else if let double = value.double {
            // Whole milliseconds of a fraction of a second; nil after year 9999.
            guard double >= 1e9, double < 1e15 else { return nil }
            self.init(epochMilliseconds: Int64(double < 1e11 ? (double * 1000).rounded(.down) : double.rounded(.down)))
        } else {
            return nil
        }
    }

    /// A trimmed text.
    package init?(_ bytes: UnsafeRawBufferPointer) {
        guard !bytes.isEmpty, bytes.count <= Self.maxCount else { return nil }
        var cursor = ASCIICursor(bytes)
        if bytes.count >= 10, bytes[4] == UInt8(ascii: "-") {
            self.init(isoAt: &cursor)
        } else if bytes.count == 10 || bytes.count == 13, let number = cursor.digits(bytes.count) {
            self.init(epoch: Int64(number), isSeconds: bytes.count == 10)
        } else {
            self.init(clockTime: bytes)
        }
    }

    /// Numbers from 10^11 are milliseconds, from 10^9 seconds.
    private init?(epoch number: Int64) {
        guard number >= 1_000_000_000 else { return nil }
        self.init(epoch: number, isSeconds: number < 100_000_000_000)
    }

    private init?(epoch number: Int64, isSeconds: Bool) {
        guard number >= (isSeconds ? 1_000_000_000 : 100_000_000_000) else { return nil }
        guard !isSeconds else {
            self = .instant(WallTime(milliseconds: number * 1000))
            return
        }
        self.init(epochMilliseconds: number)
    }

    /// The last millisecond of year 9999 is the last with a date.
    private init?(epochMilliseconds: Int64) {
        let instant = WallTime(milliseconds: epochMilliseconds)
        guard instant <= .latest else { return nil }
        self = .instant(instant)
    }

    /// `YYYY-MM-DD`, alone or followed by `T` or a space, a time, a fraction, and `Z` or an offset.
    private init?(isoAt cursor: inout ASCIICursor) {
        guard let year = cursor.digits(4), cursor.skip(UInt8(ascii: "-")), let month = cursor.digits(2),
            cursor.skip(UInt8(ascii: "-")), let day = cursor.digits(2),
            let date = CivilDate(year: year, month: month, day: day)
        else { return nil }
        if cursor.isAtEnd {
            self = .date(date)
            return
        }
        guard cursor.skip(letter: UInt8(ascii: "t")) || cursor.skip(UInt8(ascii: " ")),
            let hour = cursor.digits(2), cursor.skip(UInt8(ascii: ":")), let minute = cursor.digits(2), minute <= 59
        else { return nil }
        guard let (second, fraction) = cursor.secondsAndMilliseconds() else { return nil }
        let isEndOfDay = hour == 24 && minute == 0 && second == 0 && fraction == 0
        guard hour <= 23 || isEndOfDay else { return nil }
        let milliseconds = isEndOfDay ? 86_340_000 : ((hour * 60 + minute) * 60 + second) * 1000 + fraction
        if cursor.isAtEnd {
            self = isEndOfDay ? .endOfDay : .local(date, millisecondsOfDay: Int32(milliseconds))
            return
        }
        guard let offset = cursor.offsetInMinutes(), cursor.isAtEnd else { return nil }
        let instant = WallTime(
            milliseconds: Int64(date.daysSinceEpoch) * 86_400_000 + Int64(milliseconds) - Int64(offset) * 60_000)
        self = isEndOfDay ? .endOfDayInstant(instant) : .instant(instant)
    }

    /// `H:MM[:SS[.f]]` or `h[:mm] AM|PM`.
    private init?(clockTime bytes: UnsafeRawBufferPointer) {
        guard let reading = ClockReading(bytes) else { return nil }
        self.init(reading)
    }
}

extension ASCIICursor {
    /// `[:SS[.f…]]`, as seconds and milliseconds; zeros if absent.
    mutating func secondsAndMilliseconds() -> (seconds: Int, milliseconds: Int)? {
        guard skip(UInt8(ascii: ":")) else { return (0, 0) }
        guard let seconds = digits(2), seconds <= 59 else { return nil }
        guard skip(UInt8(ascii: ".")) else { return (seconds, 0) }
        let start = index
        guard skipDigits() else { return nil }
        var milliseconds = 0
        for digit in start..<start + 3 {
            milliseconds = milliseconds * 10 + (digit < index ? Int(bytes[digit] - UInt8(ascii: "0")) : 0)
        }
        return (seconds, milliseconds)
    }

    /// `Z`, `+HH:MM`, `+HHMM` or `+HH`, after at most one space, in minutes east of Greenwich.
    fileprivate mutating func offsetInMinutes() -> Int? {
        _ = skip(UInt8(ascii: " "))
        if skip(letter: UInt8(ascii: "z")) { return 0 }
        let isWest = peek == UInt8(ascii: "-")
        guard skip(UInt8(ascii: "+")) || skip(UInt8(ascii: "-")), let hours = digits(2), hours <= 23 else { return nil }
        var minutes = 0
        if skip(UInt8(ascii: ":")) {
            guard let found = digits(2) else { return nil }
            minutes = found
        } else if !isAtEnd {
            guard let found = digits(2) else { return nil }
            minutes = found
        }
        guard minutes <= 59 else { return nil }
        return (isWest ? -1 : 1) * (hours * 60 + minutes)
    }
}
