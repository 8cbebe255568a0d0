/// A time of day as written, before the two halves of `2-4 PM` are combined.
package struct ClockReading: Equatable {
    package enum Meridiem {
        case am, pm
    }

    package var hour: Int
    /// Nil for a bare hour, which is a time only with a meridiem.
    var minute: Int?
    package var meridiem: Meridiem?

    /// `H:MM[:SS[.f]]`, `h[:mm] AM|PM`, or a bare hour. Ranges are checked by ``Moment/init(_:)``.
    package init?(_ bytes: UnsafeRawBufferPointer) {
        var cursor = ASCIICursor(bytes)
        guard let hour = cursor.oneOrTwoDigits() else { return nil }
        self.hour = hour
        if cursor.skip(UInt8(ascii: ":")) {
            guard let minute = cursor.digits(2) else { return nil }
            self.minute = minute
            if cursor.peek == UInt8(ascii: ":") {
                guard let (seconds, milliseconds) = cursor.secondsAndMilliseconds(), cursor.isAtEnd,
                    hour != 24 || seconds == 0 && milliseconds == 0
                else { return nil }
            }
        }
        guard !cursor.isAtEnd else { return }
        cursor.skipSpaces()
        if cursor.skip(letter: UInt8(ascii: "a")) {
            meridiem = .am
        } else if cursor.skip(letter: UInt8(ascii: "p")) {
            meridiem = .pm
        } else {
            return nil
        }
        _ = cursor.skip(UInt8(ascii: "."))
        guard cursor.skip(letter: UInt8(ascii: "m")) else { return nil }
        _ = cursor.skip(UInt8(ascii: "."))
        guard cursor.isAtEnd else { return nil }
    }
}

extension Moment {
    /// Nil for a bare hour and for a value out of range.
    package init?(_ reading: ClockReading) {
        if let meridiem = reading.meridiem {
            // 12 AM is midnight, 12 PM is noon.
            guard (1...12).contains(reading.hour),
                let time = ClockTime(hour: reading.hour % 12 + (meridiem == .pm ? 12 : 0), minute: reading.minute ?? 0)
            else { return nil }
            self = .time(time)
        } else if reading.hour == 24, reading.minute == 0 {
            self = .endOfDay
        } else if let minute = reading.minute, let time = ClockTime(hour: reading.hour, minute: minute) {
            self = .time(time)
        } else {
            return nil
        }
    }
}
